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
  lookAgain,
  scheduleForgotten,
} from '../../store/builds/branch-watch.ts';
import { openIntegration } from '../../store/builds/integrations.ts';
import { SecretBoxError } from '../../store/core/errors.ts';
import type { ApiDeps } from '../core/deps.ts';
import { type Seen, takeLook } from './branch-poll.ts';

/**
 * Looks at the branches of deployments with build_on_push: where no webhook reaches the hub, and for the push that a
 * webhook lost. Any number of processes do it side by side: each takes what is due by its rows.
 */

export interface BranchPollerOptions {
  /** How often each branch is looked at, in seconds; 0: only when a push was not sure. */
  readonly everySeconds: number;
  /** How often the database is asked for what is due, in milliseconds; default 2,000. */
  readonly tickMs?: number;
  readonly random?: () => number;
}

export interface BranchPoller {
  /** Takes nothing more and, within a moment, ends what is under way. */
  stop(): Promise<void>;
}

/** Repositories that are asked at the same time: a host that hangs holds up no more than these, to its deadline. */
const CONCURRENCY = 8;
/** Longer than a host may take to answer, with what is written then. */
const LEASE_SECONDS = 60;
const TICK_MS = 2_000;
const STOP_GRACE_MS = 2_000;
/** How often those are looked for that an older release has made. */
const SCHEDULE_EVERY_MS = 3_600_000;

/** Of one repository, asked with one token. */
function byRepository(due: readonly DueBranch[]): DueBranch[][] {
  const key = ({ tenantId, integrationId, repoUrl }: DueBranch) => `${tenantId} ${integrationId} ${repoUrl}`;
  return [...Map.groupBy(due, key).values()];
}

/** null: there is no token that may be used. */
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

/** The name to ask for; null: the default branch; undefined: it is none. */
function askedBranch({ repoRef }: DueBranch): string | null | undefined {
  const tracked = trackedBranch(repoRef);
  return tracked === 'default' ? null : tracked?.name;
}

/** What was seen of each, in their order. */
async function look(deps: ApiDeps, due: readonly DueBranch[]): Promise<Seen[]> {
  const [first] = due;
  if (first === undefined) return [];
  try {
    const access = await accessTo(deps, first);
    if (access === null) return due.map(() => ({ failure: 'no_token' }));
    const branches = [...new Set(due.map(askedBranch).filter((branch) => branch !== undefined))];
    const heads = branches.length === 0 ? [] : await deps.gitHost.branchHeads(access, branches);
    return due.map((each): Seen => {
      const branch = askedBranch(each);
      const head = branch === undefined ? null : (heads[branches.indexOf(branch)] ?? null);
      return head === null ? { failure: 'no_branch' } : { head };
    });
  } catch (error) {
    if (!(error instanceof GitHostError)) throw error;
    const { failure } = error;
    return due.map(() => ({ failure }));
  }
}

/** Most looks find what is known: these cost one statement together. */
function isAsKnown({ watch }: DueBranch, head: BranchHead): boolean {
  const known = watchOf(watch, head.branch);
  return known.commit === head.commit && known.failures === 0 && !known.soon && known.doubted == null;
}

async function lookAt(
  deps: ApiDeps,
  due: readonly DueBranch[],
  options: Required<Pick<BranchPollerOptions, 'everySeconds' | 'random'>>,
): Promise<void> {
  const seen = await look(deps, due);
  const found = due.map((each, index) => ({ each, saw: seen[index] ?? { failure: 'no_branch' as const } }));
  for (const { saw } of found) deps.observer?.looked('head' in saw ? 'seen' : saw.failure);
  const unchanged = found.filter(({ each, saw }) => 'head' in saw && isAsKnown(each, saw.head));
  const [one] = unchanged;
  if (one !== undefined) {
    // The same for all of a repository: they stay together.
    const wait = nextPollSeconds(options.everySeconds, 0, options.random());
    const ids = unchanged.map(({ each }) => each.id);
    await deps.database.platform.transaction((transaction) =>
      lookAgain(transaction, { ids, claimedUntil: one.each.claimedUntil, inSeconds: wait }),
    );
  }
  for (const entry of found) {
    if (unchanged.includes(entry)) continue;
    const { each, saw } = entry;
    await takeLook(deps, each, saw, options).catch((error) =>
      // Its lease runs out, and it is looked at again.
      deps.logger.warn({ deploymentId: each.id, err: String(error) }, 'failed to note a look at a branch'),
    );
  }
}

/** Starts looking. A failure of the database or of a host is logged or told, and tried again. */
export function startBranchPoller(deps: ApiDeps, options: BranchPollerOptions): BranchPoller {
  const { everySeconds, tickMs = TICK_MS, random = Math.random } = options;
  const { database, logger } = deps;
  const underWay = new Set<Promise<void>>();
  const stopping = new AbortController();
  const stopped = Promise.withResolvers<void>();

  function begin(due: readonly DueBranch[]): void {
    const looking = lookAt(deps, due, { everySeconds, random })
      .catch((error) => logger.warn({ err: String(error) }, 'failed to look at branches; tried again'))
      .finally(() => underWay.delete(looking));
    underWay.add(looking);
  }

  let scheduleAt = 0;

  async function schedule(): Promise<void> {
    if (performance.now() < scheduleAt) return;
    await database.platform.transaction(scheduleForgotten);
    scheduleAt = performance.now() + SCHEDULE_EVERY_MS;
  }

  /** @returns how many deployments it took */
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
        logger.warn({ err: String(error) }, 'failed to read which branches are due; tried again');
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
      // A look that a host keeps waiting is abandoned: its lease runs out, and another process looks.
      await Promise.race([Promise.all(underWay), sleep(STOP_GRACE_MS, undefined, { ref: false })]);
    },
  };
}
