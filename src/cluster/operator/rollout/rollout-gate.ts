import { newServicesMissing } from '../decide/services-in-use.ts';
import type { Observed } from '../observed.ts';
import { isSame, PLAIN, type RevisionRef, revisionOf, type Target } from './target.ts';
import { running, type Templates } from './template-selection.ts';

/** A rollout is left alone this long before a newer one takes over: fifty changes in a row make a few rollouts. */
export const TAKEOVER_PAUSE_MS = 3_000;

/** The way to templates that have not failed, as far as it may be gone now. */
export function towards(
  observed: Observed,
  wanted: Templates & { readonly name: string },
  revision: RevisionRef,
  now: Date,
): Target {
  const { activeRevision, rollout } = observed.resource.status ?? {};
  const held = heldRollout(observed, wanted.name, now);
  if (held !== null) return held;
  const isActive =
    activeRevision !== undefined &&
    wanted.name === activeRevision.templates &&
    isSame(activeRevision, revision);
  const target: Target = {
    ...PLAIN,
    ...wanted,
    kind: isActive ? 'active' : 'rollout',
    revision: revisionOf(revision),
  };
  const active = observed.storedTemplates.find(({ name }) => name === activeRevision?.templates);
  const isUnderWay = rollout !== undefined && isSame(rollout, revision);
  if (activeRevision === undefined || active === undefined || isUnderWay) return target;
  const services = newServicesMissing(observed, target.templates ?? {});
  if (services.length === 0) return target;
  return {
    ...PLAIN,
    ...running(active),
    kind: 'active',
    revision: revisionOf(activeRevision),
    served: activeRevision,
    awaits: { ...revisionOf(revision), templates: wanted.name, store: wanted.store, services },
  };
}

/** The rollout under way, where it is too young to be replaced by `wanted`. */
function heldRollout(observed: Observed, wanted: string | null, now: Date): Target | null {
  const { rollout, activeRevision } = observed.resource.status ?? {};
  if (rollout === undefined || rollout.templates === wanted) return null;
  const stored = observed.storedTemplates.find(({ name }) => name === rollout.templates);
  if (stored === undefined || stored.name === activeRevision?.templates) return null;
  const startedAt = Date.parse(rollout.templatesAt ?? rollout.startedAt);
  const age = now.getTime() - startedAt;
  // A start in the future (another process's clock) holds nothing up.
  if (!(age >= 0 && age < TAKEOVER_PAUSE_MS)) return null;
  return {
    ...PLAIN,
    ...running(stored),
    kind: 'rollout',
    revision: revisionOf(rollout),
    heldUntil: startedAt + TAKEOVER_PAUSE_MS,
  };
}
