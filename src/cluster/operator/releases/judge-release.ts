import type { Patience } from '../rollout/failure-rules.ts';
import type { RolloutFailure } from '../rollout/judge-rollout.ts';
import type { JudgeInput, Verdict } from '../rollout/rollout.ts';
import { judgeWait, type Wait } from '../rollout/wait.ts';
import type { PendingRelease } from './release.ts';

/**
 * Judges a revision that waits for its release command. The task has its own time limit, so the deadline of rollouts applies
 * only until the uid of the Job is recorded.
 * @param verdict while the release has not failed
 */
export function judgeRelease(
  input: Pick<JudgeInput, 'observed' | 'now' | 'patience'>,
  release: PendingRelease,
  verdict: Verdict,
): Wait {
  if (release.kind === 'record' || release.kind === 'running')
    return { verdict, awaitingSince: null, recheckAt: null };
  const { revision } = input.observed.resource.spec;
  return judgeWait(input, revision, verdict, (isLate) => failureOf(release, isLate, input.patience));
}

function failureOf(
  release: PendingRelease,
  isLate: boolean,
  { deadlineMs }: Pick<Patience, 'deadlineMs'>,
): RolloutFailure | null {
  if (release.kind === 'failed') return release.failure;
  if (!isLate) return null;
  const why = 'message' in release ? release.message : 'the task could not be created';
  const message = `the release command did not start within ${Math.round(deadlineMs / 1000)} s: ${why}`;
  return { reason: 'ReleaseFailed', message, failureSource: { component: 'api' } };
}
