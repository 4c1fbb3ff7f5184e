import { setTimeout as sleep } from 'node:timers/promises';
import { nextPollSeconds } from '../../../domain/builds/branch-poll.ts';
import { trackedBranch, watchOf } from '../../../domain/builds/branch-watch.ts';
import {
  type BranchHead,
  GitHostError,
  isOnHost,
  type RepositoryAccess,
} from '../../../domain/builds/git-host.ts';
import {
  claimBranches,
  type DueBranch,
  scheduleNextPoll,
  scheduleUnscheduled,
} from '../../store/builds/branch-watch.ts';
import { openIntegration } from '../../store/builds/integrations.ts';
import { SecretBoxError } from '../../store/core/errors.ts';
import type { ApiDeps } from '../core/deps.ts';
import { applyPoll, type PollResult } from './branch-poll.ts';

/**
 * Polls the branches of deployments with build_on_push, for hosts whose webhooks cannot reach the hub and for pushes
 * whose webhook was lost. Several processes can run the poller. Each process claims rows that are due.
 */

export interface BranchPollerOptions {
  /** Seconds between polls of a branch; 0: a branch is polled only after a push whose order was uncertain. */
  readonly everySeconds: number;
  /** How often the database is queried for due branches, in milliseconds; default 2,000. */
  readonly tickMs?: number;
  readonly random?: () => number;
}

export interface BranchPoller {
  /** Claims no more branches, and ends polls in progress shortly afterwards. */
  stop(): Promise<void>;
}

/**
 * Number of repositories that are polled at the same time. A host that does not respond blocks only the concurrent
 * polls, until the deadline.
 */
const CONCURRENCY = 8;
/** Duration of a claim. The duration is longer than the deadline of a host plus the time to write the result. */
const LEASE_SECONDS = 60;
const TICK_MS = 2_000;
const STOP_GRACE_MS = 2_000;
/** Interval of the search for deployments from an older release. */
const SCHEDULE_EVERY_MS = 3_600_000;

/** Branches of one repository that are requested with one token. */
function byRepository(due: readonly DueBranch[]): DueBranch[][] {
  const key = ({ tenantId, integrationId, repoUrl }: DueBranch) => `${tenantId} ${integrationId} ${repoUrl}`;
  return [...Map.groupBy(due, key).values()];
}

/** null: the token is not usable. */
async function accessTo(
  { database, secretBox }: ApiDeps,
  { tenantId, integrationId, repoUrl }: DueBranch,
): Promise<RepositoryAccess | null> {
  if (integrationId === null) return { provider: 'git', repoUrl, token: null };
  try {
    const found = await database
      .forTenant(tenantId)
      .read((reader) => openIntegration(reader, secretBox, tenantId, integrationId));
    if (found === null || !isOnHost(repoUrl, found.hostUrl)) return null;
    return { provider: found.provider, repoUrl, token: found.token };
  } catch (error) {
    if (error instanceof SecretBoxError) return null;
    throw error;
  }
}

/** The branch name to request. null: the default branch; undefined: the name is not valid. */
function requestedBranch({ repoRef }: DueBranch): string | null | undefined {
  const tracked = trackedBranch(repoRef);
  return tracked === 'default' ? null : tracked?.name;
}

/** The results, in the order of the branches. */
async function pollBranches(deps: ApiDeps, due: readonly DueBranch[]): Promise<PollResult[]> {
  const [first] = due;
  if (first === undefined) return [];
  try {
    const access = await accessTo(deps, first);
    if (access === null) return due.map(() => ({ failure: 'no_token' }));
    const branches = [...new Set(due.map(requestedBranch).filter((branch) => branch !== undefined))];
    const heads =
      branches.length === 0 ? [] : await deps.gitHost.branchHeads(access, branches, first.tenantId);
    return due.map((each): PollResult => {
      const branch = requestedBranch(each);
      const head = branch === undefined ? null : (heads[branches.indexOf(branch)] ?? null);
      return head === null ? { failure: 'no_branch' } : { head };
    });
  } catch (error) {
    if (!(error instanceof GitHostError)) throw error;
    const { failure } = error;
    return due.map(() => ({ failure }));
  }
}

/** Most polls find the known commit. One statement records the results of all polls that find the known commit. */
function isAsKnown({ watch }: DueBranch, head: BranchHead): boolean {
  const known = watchOf(watch, head.branch);
  return known.commit === head.commit && known.failures === 0 && !known.soon && known.doubted == null;
}

async function pollRepository(
  deps: ApiDeps,
  due: readonly DueBranch[],
  options: Required<Pick<BranchPollerOptions, 'everySeconds' | 'random'>>,
): Promise<void> {
  const seen = await pollBranches(deps, due);
  const found = due.map((each, index) => ({ each, saw: seen[index] ?? { failure: 'no_branch' as const } }));
  for (const { saw } of found) deps.observer?.polled('head' in saw ? 'seen' : saw.failure);
  const unchanged = found.filter(({ each, saw }) => 'head' in saw && isAsKnown(each, saw.head));
  const [one] = unchanged;
  if (one !== undefined) {
    // All branches of a repository get the same failure, so that they remain in one group.
    const wait = nextPollSeconds(options.everySeconds, 0, options.random());
    const ids = unchanged.map(({ each }) => each.id);
    await deps.database.platform.transaction((transaction) =>
      scheduleNextPoll(transaction, { ids, claimedUntil: one.each.claimedUntil, inSeconds: wait }),
    );
  }
  for (const entry of found) {
    if (unchanged.includes(entry)) continue;
    const { each, saw } = entry;
    await applyPoll(deps, each, saw, options).catch((error) =>
      // The claim of the row expires, and the branch is polled again.
      deps.logger.warn(
        { deploymentId: each.id, err: String(error) },
        'failed to record the poll of a branch',
      ),
    );
  }
}

/** Starts polling. Failures of the database or a host are logged or recorded as events. The polls are retried. */
export function startBranchPoller(deps: ApiDeps, options: BranchPollerOptions): BranchPoller {
  const { everySeconds, tickMs = TICK_MS, random = Math.random } = options;
  const { database, logger } = deps;
  const underWay = new Set<Promise<void>>();
  const stopping = new AbortController();
  const stopped = Promise.withResolvers<void>();

  function begin(due: readonly DueBranch[]): void {
    const polling = pollRepository(deps, due, { everySeconds, random })
      .catch((error) =>
        logger.warn({ err: String(error) }, 'failed to poll branches; next: none, it is retried'),
      )
      .finally(() => underWay.delete(polling));
    underWay.add(polling);
  }

  let scheduleAt = 0;

  async function schedule(): Promise<void> {
    if (performance.now() < scheduleAt) return;
    await database.platform.transaction(scheduleUnscheduled);
    scheduleAt = performance.now() + SCHEDULE_EVERY_MS;
  }

  /** @returns the number of deployments that were claimed */
  async function take(): Promise<number> {
    await schedule();
    const limit = CONCURRENCY - underWay.size;
    const due = await database.platform.transaction((transaction) =>
      claimBranches(transaction, { limit, leaseSeconds: LEASE_SECONDS, soonOnly: everySeconds === 0 }),
    );
    for (const group of byRepository(due)) begin(group);
    return due.length;
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const taken = await take().catch((error) => {
        logger.warn(
          { err: String(error) },
          'failed to read which branches are due; next: none, it is retried',
        );
        return 0;
      });
      if (underWay.size >= CONCURRENCY) await Promise.race([...underWay, stopped.promise]);
      else if (taken === 0)
        await sleep(tickMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }

  const running = run();
  return {
    async stop() {
      stopping.abort();
      stopped.resolve();
      await running;
      // A poll that waits for a host is abandoned. The claim of this poll expires, and another process polls the
      // branch.
      await Promise.race([Promise.all(underWay), sleep(STOP_GRACE_MS, undefined, { ref: false })]);
    },
  };
}
