import type { BerthEvent, Revision, RevisionStatus } from '../api/types.ts';

/** The way of a revision through its statuses, from the revision and the events of the deployment. What they do not say is unknown. */

export interface Step {
  /** Statuses in order. Several: it is not known when one changed to the next. */
  readonly statuses: readonly RevisionStatus[];
  /** Whether the revision had other statuses before, which are not known. */
  readonly hasEarlier: boolean;
  /** null: not known. */
  readonly from: string | null;
  /** null: not known, or the step has not ended. */
  readonly to: string | null;
}

export interface Timeline {
  /** Steps that have ended. */
  readonly steps: readonly Step[];
  /** The present status, and since when. null: not known. */
  readonly status: RevisionStatus;
  readonly since: string | null;
  /** Whether the status is final. */
  readonly isFinal: boolean;
}

/** Events of a deployment. */
export interface KnownEvents {
  readonly events: readonly BerthEvent[];
  /** Time from which all events are known; null: all are. */
  readonly since: string | null;
}

/** Statuses that a revision can have when it is created. */
const INITIAL: ReadonlySet<string> = new Set<RevisionStatus>(['CREATING', 'AWAITING_BUILD', 'QUEUED']);

const FINAL: ReadonlySet<string> = new Set<RevisionStatus>([
  'CREATE_FAILED',
  'BUILD_FAILED',
  'DEPLOYED',
  'DEPLOY_FAILED',
  'SKIPPED',
  'INTERRUPTED',
]);

export const isFinal = (status: RevisionStatus): boolean => FINAL.has(status);

interface Transition {
  readonly at: string;
  readonly from: RevisionStatus;
  readonly to: RevisionStatus;
}

/** The transitions of a revision, oldest first. */
function transitionsOf(revisionId: string, events: readonly BerthEvent[]): Transition[] {
  const own = events.filter(({ revision_id: id }) => id === revisionId);
  return own
    .flatMap(({ at, id, details: { from, to } }) =>
      typeof from === 'string' && typeof to === 'string'
        ? [{ at, id, from: from as RevisionStatus, to: to as RevisionStatus }]
        : [],
    )
    .toSorted((a, b) => (a.at === b.at ? (a.id < b.id ? -1 : 1) : a.at < b.at ? -1 : 1));
}

type Open = Omit<Step, 'to'>;

/** The step that the transition ends. It includes a status whose beginning no event says. */
function ended(open: Open, { at, from }: Transition): Step {
  const last = open.statuses.at(-1);
  if (last === undefined) {
    return {
      ...open,
      statuses: [from],
      hasEarlier: open.hasEarlier || !INITIAL.has(from),
      to: at,
    };
  }
  return { ...open, statuses: last === from ? open.statuses : [...open.statuses, from], to: at };
}

/** When the present status began, if no event says it. UNKNOWN follows from the lease, so the revision has no time of it. */
const changedAt = ({ status, created_at, updated_at }: Revision): string | null => {
  if (status === 'UNKNOWN') return null;
  return INITIAL.has(status) && created_at === updated_at ? created_at : updated_at;
};

export function timelineOf(revision: Revision, { events, since }: KnownEvents): Timeline {
  const { id, status, created_at: createdAt } = revision;
  const isKnown = since === null || since <= createdAt;
  let open: Open = { statuses: [], hasEarlier: !isKnown, from: isKnown ? createdAt : null };
  const steps: Step[] = [];
  for (const transition of transitionsOf(id, events)) {
    steps.push(ended(open, transition));
    open = { statuses: [transition.to], hasEarlier: false, from: transition.at };
  }
  const result = { status, isFinal: isFinal(status) };
  const last = open.statuses.at(-1);
  if (last === status) return { ...result, steps, since: open.from };
  const at = changedAt(revision);
  if (last === undefined && isKnown && at === createdAt) return { ...result, steps, since: createdAt };
  const before = { ...open, hasEarlier: open.hasEarlier || last === undefined, to: at };
  return { ...result, steps: [...steps, before], since: at };
}

/** Seconds between two times; null: not known. */
export function secondsBetween(from: string | null, to: string | null): number | null {
  if (from === null || to === null) return null;
  const seconds = (Date.parse(to) - Date.parse(from)) / 1000;
  return seconds >= 0 ? seconds : null;
}

/** Such as `QUEUED, AWAITING_DEPLOY`. */
export function stepText({ statuses, hasEarlier }: Pick<Step, 'statuses' | 'hasEarlier'>): string {
  if (statuses.length === 0) return 'earlier statuses';
  return hasEarlier ? `earlier statuses, ${statuses.join(', ')}` : statuses.join(', ');
}
