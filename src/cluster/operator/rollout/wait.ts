import type { Observed } from '../observed.ts';
import { isPaused, wasPaused } from '../status/conditions.ts';
import type { Patience } from './failure-rules.ts';
import type { RolloutFailure } from './judge-rollout.ts';
import type { Rollout, Verdict } from './rollout.ts';
import { isSame, type RevisionRef } from './target.ts';

/** A desired revision that waits before its rollout. Pure. */

/** The judgement of the wait. */
export type Wait = Pick<Rollout, 'verdict' | 'awaitingSince' | 'recheckAt'>;

interface WaitInput {
  readonly observed: Observed;
  readonly now: Date;
  readonly patience: Pick<Patience, 'deadlineMs'>;
}

/**
 * Judges a revision that waits no longer than the deadline of a rollout. The time of a pause does not count.
 * @param verdict while the revision has not failed
 * @param failureOf why the revision has failed; null: it has not
 */
export function judgeWait(
  { observed: { resource }, now, patience }: WaitInput,
  revision: RevisionRef,
  verdict: Verdict,
  failureOf: (isLate: boolean) => RolloutFailure | null,
): Wait {
  const { awaiting } = resource.status ?? {};
  const isSameWait = awaiting !== undefined && isSame(awaiting, revision) && !wasPaused(resource);
  const awaitingSince = timeOr(isSameWait ? awaiting.startTime : undefined, now);
  if (isPaused(resource)) return { verdict, awaitingSince, recheckAt: null };
  const recheckAt = Date.parse(awaitingSince) + patience.deadlineMs;
  const failure = failureOf(now.getTime() >= recheckAt);
  if (failure === null) return { verdict, awaitingSince, recheckAt };
  return {
    verdict: { ...failure, kind: 'failed', seen: true, awaited: null },
    awaitingSince,
    recheckAt: null,
  };
}

/** The recorded time, otherwise now. */
export function timeOr(recorded: string | undefined, now: Date): string {
  return recorded === undefined || Number.isNaN(Date.parse(recorded)) ? now.toISOString() : recorded;
}
