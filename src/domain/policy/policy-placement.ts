import { nodeKeys } from '../pod-settings/affinity.ts';
import type { Placement } from '../pod-settings/placement.ts';
import type { Toleration } from '../pod-settings/toleration.ts';
import { COMPONENTS } from '../resource-spec/components.ts';
import { matchesAny, type Policy } from './policy.ts';
import type { PodView, Violation } from './policy-view.ts';

/** Where the policy lets pods run. */

type Allowed = Policy['placement'];
type Path = readonly (string | number)[];

const ANY = '*';

/** The parts of a pattern `key[=value][:effect]`. Absent parts match everything. */
function parsePattern(pattern: string): { key: string; value: string; effect: string } {
  const [taint = '', effect = ANY] = pattern.split(':');
  const [key = '', value = ANY] = taint.split('=');
  return { key, value, effect };
}

/** Whether a pattern allows a toleration. A toleration of every key, value or effect needs a pattern that allows every one. */
function isAllowed({ key, operator, value, effect }: Toleration, pattern: string): boolean {
  const allowed = parsePattern(pattern);
  const covers = (part: string | undefined, wanted: string) =>
    part === undefined ? wanted === ANY : matchesAny(part, [wanted]);
  return (
    covers(key, allowed.key) &&
    covers(operator === 'Exists' ? undefined : (value ?? ''), allowed.value) &&
    covers(effect, allowed.effect)
  );
}

function selectors({ node_selector: labels = {} }: Placement, allowed: Allowed, at: Path): Violation[] {
  const msg = 'the policy does not allow a node selector with this key';
  return Object.keys(labels)
    .filter((key) => !matchesAny(key, allowed.selector_keys))
    .map((key) => ({ loc: [...at, 'node_selector', key], msg }));
}

function tolerations({ tolerations: list = [] }: Placement, allowed: Allowed, at: Path): Violation[] {
  const msg = 'the policy does not allow this toleration';
  return list.flatMap((toleration, index) =>
    allowed.tolerations.some((pattern) => isAllowed(toleration, pattern))
      ? []
      : [{ loc: [...at, 'tolerations', index], msg }],
  );
}

/** The labels of nodes in an affinity have the rule of node selectors, which they could replace. */
function affinity({ affinity: given }: Placement, allowed: Allowed, at: Path): Violation[] {
  if (given === undefined) return [];
  const loc = [...at, 'affinity'];
  if (!allowed.affinity) return [{ loc, msg: 'must not be set, because the policy does not allow it' }];
  const msg = 'the policy does not allow a node selector with this key';
  return nodeKeys(given)
    .filter(({ key }) => !matchesAny(key, allowed.selector_keys))
    .map((found) => ({ loc: [...loc, ...found.loc], msg }));
}

/** The parts of `placement` that the policy does not allow. */
export function placementIssues({ settings }: PodView, { placement: allowed }: Policy): Violation[] {
  return COMPONENTS.flatMap((component) => {
    const placement = settings.placement?.[component];
    if (placement === undefined) return [];
    const at = ['source_config', 'placement', component];
    return [selectors, tolerations, affinity].flatMap((check) => check(placement, allowed, at));
  });
}
