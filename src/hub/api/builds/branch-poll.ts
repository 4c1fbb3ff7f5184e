import {
  afterSuccess,
  afterVerdict,
  type BranchPollFailure,
  nextPollSeconds,
  POLL_FAILURES,
  pollAfterFailure,
} from '../../../domain/builds/branch-poll.ts';
import {
  type BranchWatch,
  pollVerdict,
  trackedBranch,
  watchOf,
} from '../../../domain/builds/branch-watch.ts';
import type { BranchHead } from '../../../domain/builds/git-host.ts';
import {
  type DueBranch,
  readBranchState,
  wasBuilt,
  writeBranchWatch,
} from '../../store/builds/branch-watch.ts';
import type { Transaction } from '../../store/core/database.ts';
import { type Actor, appendEvents } from '../../store/core/events.ts';
import type { DeploymentRecord } from '../../store/core/records.ts';
import { findDeploymentForUpdate } from '../../store/deployments/deployments.ts';
import type { ApiDeps } from '../core/deps.ts';
import { reviseTo } from './pushed-revision.ts';

/** Applies the result of polling the branch of one deployment, in one transaction. */

/** The result of a poll: the newest commit, or the reason of the failure. */
export type PollResult = { readonly head: BranchHead } | { readonly failure: BranchPollFailure };

export interface PollOptions {
  /** Interval of polls in seconds; 0: a branch is polled only after a push whose order was uncertain. */
  readonly everySeconds: number;
  readonly random: () => number;
}

const ACTOR: Actor = { kind: 'system', name: 'branch poller' };

/** A push was reported, or the deployment changed, during the request to the host. The result may be outdated. */
const AGAIN_SECONDS = 10;
/** Seconds between polls of a branch that is polled only because the order of a push was uncertain. */
const SOON_EVERY_SECONDS = 60;

function recordEvent(
  transaction: Transaction,
  { tenantId, id: deploymentId }: DueBranch,
  event: { reason: 'BranchUnreadable' | 'BranchReadable'; message: string; details: object },
): Promise<void> {
  const { reason, message, details } = event;
  return appendEvents(transaction, [
    { tenantId, deploymentId, actor: ACTOR, reason, message, details: { ...details } },
  ]);
}

/** The name under which the branch is recorded. '' is the default branch whose name is not known. */
function branchOf(due: DueBranch, seen: PollResult): string {
  if ('head' in seen) return seen.head.branch;
  const tracked = trackedBranch(due.repoRef);
  if (tracked === 'default') return due.watch?.branch ?? '';
  return tracked?.name ?? due.repoRef ?? '';
}

async function failed(
  transaction: Transaction,
  due: DueBranch,
  known: BranchWatch,
  failure: BranchPollFailure,
  { everySeconds, random }: PollOptions,
): Promise<void> {
  const result = pollAfterFailure(known, failure);
  const wait = nextPollSeconds(everySeconds || SOON_EVERY_SECONDS, result.watch.failures, random());
  await writeBranchWatch(transaction, due.tenantId, due.id, result.watch, wait);
  if (result.report !== 'failed') return;
  const message = `The branch ${known.branch === '' ? '(the default branch)' : known.branch} could not be polled: ${POLL_FAILURES[failure]}.`;
  await recordEvent(transaction, due, { reason: 'BranchUnreadable', message, details: { failure } });
}

async function succeeded(
  deps: Pick<ApiDeps, 'policy' | 'secretBox'>,
  transaction: Transaction,
  found: { due: DueBranch; record: DeploymentRecord; known: BranchWatch; head: BranchHead },
  { everySeconds, random }: PollOptions,
): Promise<void> {
  const { due, record, known, head } = found;
  const { tenantId, id } = due;
  const { latest } = await readBranchState(transaction, tenantId, id);
  const everBuilt = await wasBuilt(transaction, tenantId, id, head.commit);
  const verdict = pollVerdict(known, head.commit, latest, everBuilt);
  const result = afterSuccess(known);
  const watch = afterVerdict(result.watch, head.commit, verdict);
  const next = nextPollSeconds(everySeconds || SOON_EVERY_SECONDS, 0, random());
  await writeBranchWatch(transaction, tenantId, id, watch, verdict === 'again' ? AGAIN_SECONDS : next);
  if (result.report === 'readable') {
    const message = `The branch ${head.branch} can be polled again.`;
    await recordEvent(transaction, due, { reason: 'BranchReadable', message, details: {} });
  }
  if (verdict !== 'build') return;
  const details = { before: known.commit };
  await reviseTo(deps, transaction, record, { ...head, actor: ACTOR, details });
}

/** The result belongs to a branch that the deployment no longer tracks. */
const isOutdated = (due: DueBranch, record: DeploymentRecord) =>
  record.sourceRevisionConfig.repo_ref !== due.repoRef;

const isWatched = ({ deleteRequestedAt, sourceConfig }: DeploymentRecord) =>
  deleteRequestedAt === null && sourceConfig.build_on_push === true;

/** Applies the result of a poll to the deployment. */
export function applyPoll(
  deps: ApiDeps,
  due: DueBranch,
  seen: PollResult,
  options: PollOptions,
): Promise<void> {
  const { tenantId, id } = due;
  return deps.database.forTenant(tenantId).transaction(async (transaction) => {
    const record = await findDeploymentForUpdate(transaction, tenantId, id);
    if (record === null || !isWatched(record)) return;
    const { watch: now } = await readBranchState(transaction, tenantId, id);
    const known = watchOf(now, branchOf(due, seen));
    const isOvertaken = watchOf(due.watch, known.branch).commit !== known.commit;
    if (isOutdated(due, record) || isOvertaken) {
      await writeBranchWatch(transaction, tenantId, id, now, AGAIN_SECONDS);
      return;
    }
    if ('failure' in seen) await failed(transaction, due, known, seen.failure, options);
    else await succeeded(deps, transaction, { due, record, known, head: seen.head }, options);
  });
}
