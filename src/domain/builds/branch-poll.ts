import type { BranchWatch, PollVerdict } from './branch-watch.ts';
import type { GitHostFailure } from './git-host.ts';

/** Determines when a tracked branch is polled next, and which results are written to the history. Pure. */

/** Why a poll did not find the newest commit. */
export type BranchPollFailure = GitHostFailure | 'no_branch' | 'no_token';

/** Longest interval of polls after failures, in seconds. A longer configured interval takes precedence. */
const MAX_WAIT_SECONDS = 3600;
/** Number of consecutive failures after which a failure is reported, so that a single failure is not reported. */
const REPORT_AFTER = 2;
const JITTER = 0.1;

/**
 * Seconds until the next poll: the interval, doubled with each failure, with a jitter of 10 % to spread polls.
 * @param failures consecutive failures, including this one. 0: the poll succeeded
 * @param random in [0, 1)
 */
export function nextPollSeconds(everySeconds: number, failures: number, random: number): number {
  const longest = Math.max(everySeconds, MAX_WAIT_SECONDS);
  const wait = Math.min(longest, everySeconds * 2 ** Math.min(failures, 30));
  return wait * (1 - JITTER + 2 * JITTER * random);
}

/** The result of a poll: the state to store, and whether to report a change. */
export interface BranchPollResult {
  readonly watch: BranchWatch;
  /** `failed`: a new failure, or another failure than before. `readable`: success after a reported failure. */
  readonly report: 'failed' | 'readable' | null;
}

/**
 * Number of failures after which the polling of a branch stops, if it is polled only because the order of its pushes is
 * uncertain.
 */
const MAX_SOON_FAILURES = 5;

/** The result of a failed poll. */
export function pollAfterFailure(watch: BranchWatch, failure: BranchPollFailure): BranchPollResult {
  const failures = watch.failures + 1;
  const isNews = failures >= REPORT_AFTER && watch.reportedFailure !== failure;
  const soon = watch.soon === true && failures < MAX_SOON_FAILURES;
  return {
    watch: { ...watch, failures, reportedFailure: isNews ? failure : watch.reportedFailure, soon },
    report: isNews ? 'failed' : null,
  };
}

/** The state of the branch after the verdict on the polled head. */
export function afterVerdict(watch: BranchWatch, head: string, verdict: PollVerdict): BranchWatch {
  if (verdict === 'again') return { ...watch, soon: true, doubted: head };
  if (verdict === 'wait') return { ...watch, soon: true, doubted: null };
  return { ...watch, commit: head, deleted: false, soon: false, doubted: null };
}

/** The result of a successful poll. The verdict on the commit is separate. */
export function afterSuccess(watch: BranchWatch): BranchPollResult {
  return {
    watch: { ...watch, failures: 0, reportedFailure: null },
    report: watch.reportedFailure === null ? null : 'readable',
  };
}

/** Messages of failures for the history. The messages contain no text of the host and no part of the token. */
export const POLL_FAILURES: Readonly<Record<BranchPollFailure, string>> = {
  refused: 'the git host rejects the token of the integration; PATCH the integration with another token',
  limited: 'the git host limits the rate of requests with this token',
  missing: 'the repository does not exist on the git host, or the token does not allow access',
  private_address:
    'the git host has a private address, and this installation does not call private addresses',
  timeout: 'the git host did not respond within the time limit',
  unavailable: 'the git host cannot be reached or responds with an error',
  unreadable:
    'the response of the git host is not a response of a git server, or the list of its branches and tags is too large',
  no_token: 'the token of the integration cannot be read; PATCH the integration with the token again',
  no_branch: 'the branch does not exist in the repository',
};
