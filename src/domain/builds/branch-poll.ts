import type { BranchWatch, LookVerdict } from './branch-watch.ts';
import type { GitHostFailure } from './git-host.ts';

/** When a branch is looked at next, and what of it is told. Pure. */

/** Why a look did not find the newest commit. */
export type LookFailure = GitHostFailure | 'no_branch' | 'no_token';

/** A host that is away is looked at this seldom at most, in seconds; more seldom only if all are. */
const MAX_WAIT_SECONDS = 3600;
/** A failure that is gone the next time is told nobody. */
const TOLD_AFTER = 2;
const JITTER = 0.1;

/**
 * Until the next look, in seconds: the interval, doubled with each failure, give or take a tenth so that looks spread out.
 * @param failures in a row, this one included; 0: it succeeded
 * @param random in [0, 1)
 */
export function nextLookSeconds(everySeconds: number, failures: number, random: number): number {
  const most = Math.max(everySeconds, MAX_WAIT_SECONDS);
  const wait = Math.min(most, everySeconds * 2 ** Math.min(failures, 30));
  return wait * (1 - JITTER + 2 * JITTER * random);
}

/** What is kept of a look, and whether the history is to tell of it. */
export interface Looked {
  readonly watch: BranchWatch;
  /** `failed`: for the first time, or otherwise than before. `readable`: after a failure that was told. */
  readonly tell: 'failed' | 'readable' | null;
}

/** A branch that is looked at only because a push was not sure is given up after so many failures. */
const MOST_SOON_FAILURES = 5;

/** After a look that failed. */
export function afterFailure(watch: BranchWatch, failure: LookFailure): Looked {
  const failures = watch.failures + 1;
  const isNews = failures >= TOLD_AFTER && watch.told !== failure;
  const soon = watch.soon === true && failures < MOST_SOON_FAILURES;
  return {
    watch: { ...watch, failures, told: isNews ? failure : watch.told, soon },
    tell: isNews ? 'failed' : null,
  };
}

/** What is known of the branch when the head that was seen has been judged. */
export function afterVerdict(watch: BranchWatch, head: string, verdict: LookVerdict): BranchWatch {
  if (verdict === 'again') return { ...watch, soon: true, doubted: head };
  if (verdict === 'wait') return { ...watch, soon: true, doubted: null };
  return { ...watch, commit: head, deleted: false, soon: false, doubted: null };
}

/** After a look that found a commit; what is done about it is another matter. */
export function afterSuccess(watch: BranchWatch): Looked {
  return {
    watch: { ...watch, failures: 0, told: null },
    tell: watch.told === null ? null : 'readable',
  };
}

/** What a failure means to whoever reads the history: no word of the host's, nothing of the token. */
export const LOOK_FAILURES: Readonly<Record<LookFailure, string>> = {
  refused: 'the git host refuses the token of the integration; PATCH the integration with another one',
  limited: 'the git host lets no more requests of this token pass for now',
  missing: 'the git host has no such repository, or the token may not read it',
  private_address: 'the git host is at a private address, which this installation does not call',
  timeout: 'the git host did not answer in time',
  unavailable: 'the git host cannot be reached or answers with an error',
  unreadable: 'what the git host answers is not what a git server answers',
  no_token: 'the token of the integration cannot be read; PATCH the integration with it again',
  no_branch: 'the repository has no such branch',
};
