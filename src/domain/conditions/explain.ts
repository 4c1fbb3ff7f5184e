import { causesOf } from './explain-causes.ts';
import {
  ageSeconds,
  type Cause,
  type ExplainFacts,
  isCurrent,
  knownAt,
  STATUS_WORDS,
} from './explain-facts.ts';
import { type Remedy, remedyOf } from './remedies.ts';
import { type Problem, remedyFor } from './remedy-for.ts';

/** Explains the state of a revision and recommends a remedy. A pure function of the facts in the hub. */

/**
 * Whether this revision serves. `unknown`: the revision served when it was last observed, and the cluster is not
 * observed now.
 */
export const SERVES = ['yes', 'no', 'unknown'] as const;
export type Serves = (typeof SERVES)[number];

export interface Explanation {
  readonly serves: Serves;
  /** Summary in one or two sentences. */
  readonly summary: string;
  /** The first cause is the state of the revision. Each following cause is more specific. */
  readonly causes: readonly Cause[];
  /** null: no action needed. `act`: a person has to act. `wait`: no intervention is needed. */
  readonly remedy: { readonly kind: 'act' | 'wait'; readonly reason: string; readonly text: string } | null;
  readonly knowledge: {
    /** Whether the cluster is observed now. */
    readonly current: boolean;
    /** The time of the last confirmed state of the cluster. null: none. */
    readonly at: Date | null;
    /** Age of the last confirmed state. */
    readonly ageSeconds: number | null;
  };
}

/** For the active revision: the condition Serving, if it is observed. During a deletion, pods can end at any time. */
function servesOf(facts: ExplainFacts): Serves {
  const { revision, active, deployment } = facts;
  if (active?.id !== revision.id) return 'no';
  if (!isCurrent(facts) || deployment.deleteRequestedAt !== null) return 'unknown';
  const serving = deployment.conditions.find(({ type }) => type === 'Serving')?.status;
  if (serving === 'True') return 'yes';
  return serving === 'False' ? 'no' : 'unknown';
}

const remedyOfCause = (cause: Cause) => cause.remedy ?? remedyOf(cause.reason);

/** The root cause: the last cause that a person can act on, otherwise the last cause to wait for. */
function rootOf(causes: readonly Cause[]): Cause | undefined {
  const current = causes.filter((cause) => cause.current);
  const kind = (wanted: 'act' | 'wait') => current.findLast((cause) => remedyOfCause(cause)?.kind === wanted);
  return kind('act') ?? kind('wait');
}

/** The parts of a cause that its remedy depends on. */
function problemOf({ reason, message, condition, object }: Cause): Problem {
  const { component, field, container, container_kind: containerKind } = object ?? {};
  return { reason, message, condition, component, field, container, containerKind };
}

/** The remedy of the root cause. If the message of the cluster shows the cause, the remedy is specific to it. */
const remedyOfRoot = (root: Cause): Remedy | null => root.remedy ?? remedyFor(problemOf(root));

/** Adds a full stop, because messages of the cluster may end without a full stop. */
const sentence = (text: string) => (/[.!?]$/.test(text) ? text : `${text}.`);

function summaryOf({ revision, active }: ExplainFacts, serves: Serves, root: Cause | undefined): string {
  const { number, status } = revision;
  const name = `Revision ${number}`;
  const isActive = active?.id === revision.id;
  if (isActive && serves === 'yes') {
    const but = root === undefined ? '' : ` However: ${sentence(root.message)}`;
    return `${name} is deployed and serves.${but}`;
  }
  const because = root === undefined || root.level === 'revision' ? '' : ` ${sentence(root.message)}`;
  if (isActive) {
    const word = serves === 'no' ? 'does not serve' : 'may serve, but its state is not known now';
    return `${name} is deployed and active, and ${word}.${because}`;
  }
  const other = active === null ? 'No revision is active.' : `Revision ${active.number} is active.`;
  if (status === 'DEPLOYED') return `${name} was deployed. ${other}`;
  return `${name} ${STATUS_WORDS[status][0]}.${because} ${other}`;
}

/** Explains the state of the revision. */
export function explain(facts: ExplainFacts): Explanation {
  const causes = causesOf(facts);
  const serves = servesOf(facts);
  // A former revision that was deployed needs no action.
  const past = facts.revision.status === 'DEPLOYED' && facts.active?.id !== facts.revision.id;
  const root = past ? undefined : rootOf(causes);
  const remedy = root === undefined ? null : remedyOfRoot(root);
  const at = knownAt(facts);
  return {
    serves,
    summary: summaryOf(facts, serves, root),
    causes,
    remedy:
      root === undefined || remedy === null || !('text' in remedy)
        ? null
        : { kind: remedy.kind, reason: root.reason, text: remedy.text },
    knowledge: {
      current: isCurrent(facts),
      at,
      ageSeconds: at === null ? null : ageSeconds(facts.now, at),
    },
  };
}
