import type { Observed } from '../observed.ts';
import type { Patience } from '../rollout/failure-rules.ts';
import type { RolloutFailure } from '../rollout/judge-rollout.ts';
import type { Verdict, Wait } from '../rollout/rollout.ts';
import { isSame } from '../rollout/target.ts';
import { isPaused, wasPaused } from '../status/conditions.ts';
import type { PendingRelease } from './release.ts';

/**
 * Judges a revision that waits for its release command. The task has its own time limit, so the deadline of rollouts applies
 * only until the uid of the Job is recorded.
 * @param verdict while the release has not failed
 */
export function judgeRelease(
  { resource }: Observed,
  release: PendingRelease,
  verdict: Verdict,
  { now, patience }: { readonly now: Date; readonly patience: Patience },
): Wait {
  if (release.kind === 'record' || release.kind === 'running')
    return { verdict, awaitingSince: null, recheckAt: null };
  const { awaiting } = resource.status ?? {};
  const isSameWait =
    awaiting !== undefined && isSame(awaiting, resource.spec.revision) && !wasPaused(resource);
  const known = isSameWait ? Date.parse(awaiting.startTime) : Number.NaN;
  const since = Number.isNaN(known) ? now.getTime() : known;
  const awaitingSince = new Date(since).toISOString();
  if (isPaused(resource)) return { verdict, awaitingSince, recheckAt: null };
  const recheckAt = since + patience.deadlineMs;
  const failure = failureOf(release, now.getTime() >= recheckAt, patience);
  if (failure === null) return { verdict, awaitingSince, recheckAt };
  return {
    verdict: { ...failure, kind: 'failed', seen: true, awaited: null },
    awaitingSince,
    recheckAt: null,
  };
}

function failureOf(
  release: PendingRelease,
  isLate: boolean,
  { deadlineMs }: Patience,
): RolloutFailure | null {
  if (release.kind === 'failed') return release.failure;
  if (!isLate) return null;
  const why = 'message' in release ? release.message : 'the task could not be created';
  const message = `the release command did not start within ${Math.round(deadlineMs / 1000)} s: ${why}`;
  return { reason: 'ReleaseFailed', message, failureSource: { component: 'api' } };
}
