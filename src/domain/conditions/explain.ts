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
import { causeText, type Problem, remedyFor } from './remedy-for.ts';

/** Why a revision is where it is, and what to do about it: a pure function of what the hub knows. */

/** Whether the app answers from this revision; `unknown`: it did when last seen, and nobody can look now. */
export const SERVES = ['yes', 'no', 'unknown'] as const;
export type Serves = (typeof SERVES)[number];

export interface Explanation {
  readonly serves: Serves;
  /** The whole in a sentence or two. */
  readonly summary: string;
  /** The first says where the revision is, each that follows is nearer to the cause. */
  readonly causes: readonly Cause[];
  /** null: nothing is to be done. `act`: somebody has to; `wait`: it goes on by itself. */
  readonly remedy: { readonly kind: 'act' | 'wait'; readonly reason: string; readonly text: string } | null;
  readonly knowledge: {
    /** The cluster is observed now. */
    readonly current: boolean;
    /** When what is known of the cluster was last true for sure; null: nothing is known. */
    readonly at: Date | null;
    /** Its age. */
    readonly ageSeconds: number | null;
  };
}

/** Of the active revision: what Serving says, if somebody looks. While it is being deleted, pods go at any moment. */
function servesOf(facts: ExplainFacts): Serves {
  const { revision, active, deployment } = facts;
  if (active?.id !== revision.id) return 'no';
  if (!isCurrent(facts) || deployment.deleteRequestedAt !== null) return 'unknown';
  const serving = deployment.conditions.find(({ type }) => type === 'Serving')?.status;
  if (serving === 'True') return 'yes';
  return serving === 'False' ? 'no' : 'unknown';
}

const remedyOfCause = (cause: Cause) => cause.remedy ?? remedyOf(cause.reason);

/** The cause to begin with: the last that somebody can do something about, else the last that is waited for. */
function rootOf(causes: readonly Cause[]): Cause | undefined {
  const current = causes.filter((cause) => cause.current);
  const kind = (wanted: 'act' | 'wait') => current.findLast((cause) => remedyOfCause(cause)?.kind === wanted);
  return kind('act') ?? kind('wait');
}

/** A cause as far as its remedy depends on it. */
function problemOf({ reason, message, condition, object }: Cause): Problem {
  const { component, field, container, container_kind: containerKind } = object ?? {};
  return { reason, message, condition, component, field, container, containerKind };
}

/** What to do about it, by the words of the cluster where these tell the cause. */
function remedyOfRoot(root: Cause): Remedy | null {
  const { remedy } = root;
  if (remedy === undefined) return remedyFor(problemOf(root));
  const found = root.reason === 'CrashLoop' ? null : causeText(problemOf(root));
  if (found === null || !('text' in remedy)) return remedy;
  // The general text speaks of a lack of room, which is wrong for a volume.
  const isWhole = root.reason === 'Unschedulable' || root.reason === 'MountFailed';
  return { kind: remedy.kind, text: isWhole ? found : `${found} ${remedy.text}` };
}

/** Messages of the cluster end as they like. */
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
    return `${name} is deployed and active. It ${word}.${because}`;
  }
  const other = active === null ? 'No revision is active.' : `Revision ${active.number} is active.`;
  if (status === 'DEPLOYED') return `${name} was deployed. ${other}`;
  return `${name} ${STATUS_WORDS[status][0]}.${because} ${other}`;
}

/** Why the revision is where it is. */
export function explain(facts: ExplainFacts): Explanation {
  const causes = causesOf(facts);
  const serves = servesOf(facts);
  // A revision of the past that was deployed once wants nothing done.
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
