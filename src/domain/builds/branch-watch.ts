import type { LookFailure } from './branch-poll.ts';

/**
 * What a push, or a look at the branch, means for a deployment that is built on push. Pure; git hosts promise neither
 * that each push is told once nor that pushes are told in their order.
 */

/** `deployments.branch_watch`: what is known of the tracked branch. */
export interface BranchWatch {
  /** Its name without refs/heads/; '': the default one, not seen yet. If another one is tracked now, the rest means nothing. */
  readonly branch: string;
  /** Its newest commit, as far as is known; null: unknown. */
  readonly commit: string | null;
  /** Pushes that were told: the commit before and the one after, oldest first. */
  readonly pushes: readonly (readonly [before: string, after: string])[];
  /** Looks at the branch that failed, one after the other. */
  readonly failures: number;
  /** The failure that stands in the history; null: none, or it is over. */
  readonly told: LookFailure | null;
  /** It was told to be deleted, and nothing of a later one of its name is known. */
  readonly deleted?: boolean;
  /** What is told of it is not sure: it is to be looked at, also where branches are not looked at otherwise. */
  readonly soon?: boolean;
  /** Seen once, though pushes tell that it is not the newest any more: built if it is seen again. */
  readonly doubted?: string | null;
}

/** A push to a branch, as told. */
export interface Push {
  readonly branch: string;
  /** Commit before it; null: the branch is new. */
  readonly before: string | null;
  /** Commit after it. */
  readonly after: string;
}

/** Of a burst, all must be remembered for their order to come out. */
const MAX_PUSHES = 64;

const nothingKnown = (branch: string): BranchWatch => ({
  branch,
  commit: null,
  pushes: [],
  failures: 0,
  told: null,
});

/** What is known of a branch. */
export function watchOf(watch: BranchWatch | null, branch: string): BranchWatch {
  if (watch?.branch === branch) return watch;
  // The default branch, before its name was known.
  return watch?.branch === '' ? { ...watch, branch } : nothingKnown(branch);
}

/** The branch that a repo_ref names; `default`: the repository's; null: it names a tag or something else. */
export function trackedBranch(repoRef: string | null): { readonly name: string } | 'default' | null {
  if (repoRef === null) return 'default';
  const name = repoRef.replace(/^refs\/heads\//, '');
  return name.startsWith('refs/') ? null : { name };
}

/**
 * Where the pushes lead that followed a commit.
 * @returns null: back to where they began, so that their order says nothing
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

/** What a push leads to. */
export interface Pushed {
  readonly watch: BranchWatch;
  /** The newest commit of the branch, as far as the pushes tell. */
  readonly head: string;
  /** False: the pushes do not tell the order; the branch is to be looked at soon. */
  readonly sure: boolean;
}

/** A branch that is new is at its first commit, whatever was told of a former one of its name. */
function afterCreation({ branch, after }: Push): Pushed {
  return { watch: { ...nothingKnown(branch), commit: after, soon: true }, head: after, sure: false };
}

/** Whether the known commit was seen, and no push told of it: what was told before is older than it. */
const wasSeen = ({ commit, pushes }: BranchWatch) => !pushes.some(([, after]) => after === commit);

/**
 * Takes a push into account. A push that comes after one that followed it changes nothing, though the branch may have
 * been forced back as well: it is not sure. One that fits nowhere is taken for the newest.
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

/** The branch is gone; a later one of its name begins anew. Not sure: it may be there again already. */
export function afterDeletion(
  known: BranchWatch | null,
  { branch, before }: { readonly branch: string; readonly before: string | null },
): { readonly watch: BranchWatch; readonly sure: boolean } {
  const { commit } = watchOf(known, branch);
  const sure = commit === null || commit === before;
  return { watch: { ...nothingKnown(branch), deleted: true, soon: !sure }, sure };
}

/** What is known of the latest revision, for the decision whether a commit is to be built. */
export interface LatestRevision {
  /** null: it is built from the newest commit, which one is not known yet (or it failed before). */
  readonly commit: string | null;
  /** Its build waits or runs. */
  readonly building: boolean;
}

/** `build`: a new revision. `known`: it is what runs, or is built. `wait`: the running build will say what it is of. */
export type CommitVerdict = 'build' | 'known' | 'wait';

/** `again`: it is older than what was told, as far as is known; one more look tells whether the git host lags. */
export type LookVerdict = CommitVerdict | 'again';

/** What becomes of the head that pushes led to. */
export function pushVerdict(
  known: BranchWatch | null,
  pushed: Pushed,
  latest: LatestRevision,
): CommitVerdict {
  if (latest.commit === pushed.head) return 'known';
  const { commit } = watchOf(known, pushed.watch.branch);
  return commit === pushed.head ? 'known' : 'build';
}

/** Whether pushes that were told lead from a commit to the known one. */
function isPassed({ pushes, commit }: BranchWatch, seen: string): boolean {
  const next = new Map(pushes);
  const passed = new Set<string>();
  for (let at: string | undefined = seen; at !== undefined && !passed.has(at); at = next.get(at))
    passed.add(at);
  return commit !== null && passed.has(commit);
}

/**
 * What becomes of the head that was seen when the branch was looked at.
 * @param everBuilt some revision of the deployment was made of this commit: at the first look, whoever went back to an
 *   earlier revision is not overruled
 */
export function lookVerdict(
  watch: BranchWatch,
  head: string,
  latest: LatestRevision,
  everBuilt: boolean,
): LookVerdict {
  if (watch.commit === head) return 'known';
  if (watch.doubted !== head && isPassed(watch, head)) return 'again';
  if (latest.commit === head) return 'known';
  // A branch that was made again is no rollback.
  if (watch.commit === null && everBuilt && watch.deleted !== true) return 'known';
  return latest.commit === null && latest.building ? 'wait' : 'build';
}
