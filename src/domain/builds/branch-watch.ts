import type { BranchPollFailure } from './branch-poll.ts';

/**
 * Determines the effect of a push, or of a poll of the branch, on a deployment with build_on_push. Pure. Git hosts may
 * deliver push events repeatedly, out of order, or not at all.
 */

/** `deployments.branch_watch`: the known state of the tracked branch. */
export interface BranchWatch {
  /**
   * Name of the branch without refs/heads/. '': the default branch, not polled yet. If another branch is tracked now,
   * all other fields are invalid.
   */
  readonly branch: string;
  /** Newest known commit of the branch. null: unknown. */
  readonly commit: string | null;
  /** Reported pushes: the commits before and after, oldest first. */
  readonly pushes: readonly (readonly [before: string, after: string])[];
  /** Consecutive failed polls. */
  readonly failures: number;
  /** The failure that was reported in the history. null: no failure was reported, or a later poll succeeded. */
  readonly reportedFailure: BranchPollFailure | null;
  /** Whether a push event reported the deletion of the branch, and no later branch of this name is known. */
  readonly deleted?: boolean;
  /** Whether the branch is polled even if polling is disabled, because the push events are inconclusive. */
  readonly soon?: boolean;
  /**
   * A polled commit that is not the newest commit according to push events, and that is built if the next poll finds it
   * again.
   */
  readonly doubted?: string | null;
}

/** A push to a branch, from a push event. */
export interface Push {
  readonly branch: string;
  /** Commit before the push. null: the branch is new. */
  readonly before: string | null;
  /** Commit after the push. */
  readonly after: string;
}

/** Maximum number of stored pushes. All pushes of a burst must be stored to determine their order. */
const MAX_PUSHES = 64;

const nothingKnown = (branch: string): BranchWatch => ({
  branch,
  commit: null,
  pushes: [],
  failures: 0,
  reportedFailure: null,
});

/** The known state of a branch. */
export function watchOf(watch: BranchWatch | null, branch: string): BranchWatch {
  if (watch?.branch === branch) return watch;
  // Whether the stored branch is the default branch whose name was not known yet.
  return watch?.branch === '' ? { ...watch, branch } : nothingKnown(branch);
}

/** The branch that a repo_ref names. `default`: the default branch. null: the ref names a tag or another object. */
export function trackedBranch(repoRef: string | null): { readonly name: string } | 'default' | null {
  if (repoRef === null) return 'default';
  const name = repoRef.replace(/^refs\/heads\//, '');
  return name.startsWith('refs/') ? null : { name };
}

/**
 * The commit at the end of the chain of pushes that starts at a commit.
 * @returns null: the chain is a cycle, so it does not determine an order
 */
function endOf(pushes: BranchWatch['pushes'], start: string): string | null {
  const next = new Map(pushes);
  const seen = new Set<string>();
  let commit = start;
  for (let after = next.get(commit); after !== undefined; after = next.get(commit)) {
    if (seen.has(commit)) return null;
    seen.add(commit);
    commit = after;
  }
  return commit;
}

/** The effect of a push. */
export interface Pushed {
  readonly watch: BranchWatch;
  /** The newest commit of the branch according to the pushes. */
  readonly head: string;
  /** False: the pushes do not determine the order, so the branch is polled soon. */
  readonly sure: boolean;
}

/** The effect of a push that creates a branch. Earlier pushes to a deleted branch of the same name are ignored. */
function afterCreation({ branch, after }: Push): Pushed {
  return { watch: { ...nothingKnown(branch), commit: after, soon: true }, head: after, sure: false };
}

/** Whether the known commit comes from a poll, not from a push. Earlier pushes are then older than this commit. */
const wasSeen = ({ commit, pushes }: BranchWatch) => !pushes.some(([, after]) => after === commit);

/**
 * Applies a push. A push that arrives after its successor changes nothing, but is inconclusive, because it may also be
 * a force push back to an older commit. A push that is not connected to known pushes counts as the newest.
 */
export function afterPush(known: BranchWatch | null, push: Push): Pushed {
  const watch = watchOf(known, push.branch);
  const { before, after } = push;
  if (before === null) return afterCreation(push);
  const others = watch.pushes.filter(([from]) => from !== before);
  const pushes = [...others, [before, after] as const].slice(-MAX_PUSHES);
  const end = endOf(pushes, after);
  const isForcedBack = end === null || (watch.commit === before && wasSeen(watch));
  const head = isForcedBack ? after : end;
  const follows = watch.commit === null || watch.commit === before || watch.commit === head;
  const sure = end === after && follows;
  const soon = !sure || watch.soon === true;
  return { watch: { ...watch, pushes, commit: head, soon, deleted: false, doubted: null }, head, sure };
}

/**
 * Applies a deletion. A later branch of the same name starts without a known state. The later branch may exist already,
 * so the branch is polled soon.
 */
export function afterDeletion(
  known: BranchWatch | null,
  { branch, before }: { readonly branch: string; readonly before: string | null },
): { readonly watch: BranchWatch; readonly sure: boolean } {
  const { commit } = watchOf(known, branch);
  const sure = commit === null || commit === before;
  return { watch: { ...nothingKnown(branch), deleted: true, soon: !sure }, sure };
}

/** Facts about the latest revision that decide whether a commit is built. */
export interface LatestRevision {
  /**
   * null: the revision is built from the newest commit, which is not known yet, or its build failed before the commit
   * was known.
   */
  readonly commit: string | null;
  /** Whether the build of the revision is waiting or running. */
  readonly building: boolean;
}

/**
 * `build`: create a revision. `known`: a revision already has this commit. `wait`: the running build will report its
 * commit.
 */
export type CommitVerdict = 'build' | 'known' | 'wait';

/** `again`: the commit seems older than the pushes, so another poll checks whether the git host lags. */
export type PollVerdict = CommitVerdict | 'again';

/** The verdict on the newest commit according to pushes. */
export function pushVerdict(
  known: BranchWatch | null,
  pushed: Pushed,
  latest: LatestRevision,
): CommitVerdict {
  if (latest.commit === pushed.head) return 'known';
  const { commit } = watchOf(known, pushed.watch.branch);
  return commit === pushed.head ? 'known' : 'build';
}

/** Whether reported pushes lead from this commit to the known commit. */
function isPassed({ pushes, commit }: BranchWatch, seen: string): boolean {
  const next = new Map(pushes);
  const passed = new Set<string>();
  for (let at: string | undefined = seen; at !== undefined && !passed.has(at); at = next.get(at))
    passed.add(at);
  return commit !== null && passed.has(commit);
}

/**
 * The verdict on the newest commit that a poll found.
 * @param everBuilt whether a revision of the deployment has this commit. The first poll then does not build the commit,
 *   because the user may have rolled back to an earlier revision
 */
export function pollVerdict(
  watch: BranchWatch,
  head: string,
  latest: LatestRevision,
  everBuilt: boolean,
): PollVerdict {
  if (watch.commit === head) return 'known';
  if (watch.doubted !== head && isPassed(watch, head)) return 'again';
  if (latest.commit === head) return 'known';
  // A recreated branch is not a rollback.
  if (watch.commit === null && everBuilt && watch.deleted !== true) return 'known';
  return latest.commit === null && latest.building ? 'wait' : 'build';
}
