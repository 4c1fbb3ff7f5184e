import {
  afterDeletion,
  afterPush,
  type BranchWatch,
  pushVerdict,
  trackedBranch,
} from '../../../domain/builds/branch-watch.ts';
import { repositoryKey } from '../../../domain/builds/repository-key.ts';
import type { BranchEvent } from '../../../domain/builds/webhook-event.ts';
import {
  type PushCandidate,
  pushCandidates,
  readBranchState,
  writeBranchWatch,
} from '../../store/builds/branch-watch.ts';
import { recordDelivery, type WebhookTarget } from '../../store/builds/webhooks.ts';
import type { Transaction } from '../../store/core/database.ts';
import { StoreContention, StoreUnavailable } from '../../store/core/errors.ts';
import { type Actor, appendEvents } from '../../store/core/events.ts';
import type { DeploymentRecord } from '../../store/core/records.ts';
import { inSavepoint } from '../../store/core/savepoint.ts';
import { findDeploymentForUpdate } from '../../store/deployments/deployments.ts';
import { reviseTo, shortCommit } from '../builds/pushed-revision.ts';
import type { ApiDeps } from '../core/deps.ts';
import { toApiError } from '../core/errors.ts';

/** Applies a push that a webhook reports, in one transaction with the record of the delivery. */

export interface PushDelivery {
  readonly target: Pick<WebhookTarget, 'tenantId' | 'integrationId'>;
  /** The id that identifies repeated deliveries (domain/builds/webhook-signature.ts). */
  readonly keys: readonly string[];
  readonly event: BranchEvent;
}

/** `nothing_to_build`: this commit or a newer commit is already built, or the branch was deleted. */
export type PushOutcome = 'revision_made' | 'nothing_to_build' | 'failed';

export interface PushedDeployment {
  readonly deploymentId: string;
  readonly outcome: PushOutcome;
  /** null: no revision was created. */
  readonly revisionId: string | null;
}

const ACTOR: Actor = { kind: 'system', name: 'webhook' };

/**
 * Delay of the poll of a branch when the order of pushes is uncertain. The delay is needed because git hosts can lag
 * for a moment.
 */
const CONFIRM_POLL_SECONDS = 10;

function tracks(repoRef: string | null, { push, defaultBranch }: BranchEvent): boolean {
  const tracked = trackedBranch(repoRef);
  if (tracked === null) return false;
  return push.branch === (tracked === 'default' ? defaultBranch : tracked.name);
}

function concerns({ repoUrl, repoRef }: PushCandidate, event: BranchEvent): boolean {
  const key = repositoryKey(repoUrl);
  return key !== null && event.repositories.has(key) && tracks(repoRef, event);
}

/** The state is read again, because the deployment can have changed between the query and the lock. */
function isStillConcerned(record: DeploymentRecord, event: BranchEvent): boolean {
  const { sourceConfig, sourceRevisionConfig, deleteRequestedAt } = record;
  return (
    deleteRequestedAt === null &&
    sourceConfig.build_on_push === true &&
    tracks(sourceRevisionConfig.repo_ref, event)
  );
}

async function apply(
  deps: ApiDeps,
  transaction: Transaction,
  { target, keys, event }: PushDelivery,
  deploymentId: string,
): Promise<PushedDeployment> {
  const { tenantId, integrationId } = target;
  const nothing = { deploymentId, outcome: 'nothing_to_build', revisionId: null } as const;
  const record = await findDeploymentForUpdate(transaction, tenantId, deploymentId);
  if (record === null || !isStillConcerned(record, event)) return nothing;
  const { branch, before, after } = event.push;
  const { watch, latest } = await readBranchState(transaction, tenantId, deploymentId);
  const keep = (update: { watch: BranchWatch; sure: boolean }) =>
    writeBranchWatch(
      transaction,
      tenantId,
      deploymentId,
      update.watch,
      update.sure ? null : CONFIRM_POLL_SECONDS,
    );
  if (after === null) {
    await keep(afterDeletion(watch, { branch, before }));
    return nothing;
  }
  const pushed = afterPush(watch, { branch, before, after });
  await keep(pushed);
  if (pushVerdict(watch, pushed, latest) !== 'build') return nothing;
  const details = { before, delivery_id: keys[0], integration_id: integrationId };
  const commit = { branch, commit: pushed.head, actor: ACTOR, details };
  const revisionId = await reviseTo(deps, transaction, record, commit);
  return { deploymentId, outcome: 'revision_made', revisionId };
}

/**
 * The failure in the form for the history; null: the failure affects all deployments, and the whole delivery must be
 * retried.
 */
function refusalOf(error: unknown): string | null {
  if (error instanceof StoreUnavailable || error instanceof StoreContention) return null;
  const { statusCode, detail } = toApiError(error);
  if (statusCode >= 500) return 'an internal error occurred';
  return typeof detail === 'string'
    ? detail
    : detail.map(({ loc, msg }) => `${loc.join('.')} ${msg}`).join('; ');
}

/** A failure of one deployment does not affect other deployments. */
async function applyOrRecordFailure(
  deps: ApiDeps,
  transaction: Transaction,
  delivery: PushDelivery,
  deploymentId: string,
): Promise<PushedDeployment> {
  try {
    return await inSavepoint(transaction, () => apply(deps, transaction, delivery, deploymentId));
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal === null) throw error;
    deps.logger.warn({ deploymentId, err: String(error) }, 'failed to create a revision for a push');
    const { tenantId } = delivery.target;
    const { branch, after } = delivery.event.push;
    const message = `Commit ${shortCommit(after ?? '')} of branch ${branch} did not create a revision: ${refusal.replace(/\.$/, '')}.`;
    await appendEvents(transaction, [
      {
        tenantId,
        deploymentId,
        actor: ACTOR,
        reason: 'PushNotBuilt',
        message,
        details: { branch, commit: after },
      },
    ]);
    return { deploymentId, outcome: 'failed', revisionId: null };
  }
}

/**
 * Applies a push. Each deployment of the integration that tracks the branch gets a revision of its newest commit.
 * @returns the outcome for each deployment; null: the delivery was already applied
 */
export function takePush(deps: ApiDeps, delivery: PushDelivery): Promise<PushedDeployment[] | null> {
  const { target, keys, event } = delivery;
  const { tenantId, integrationId } = target;
  return deps.database.forTenant(tenantId).transaction(async (transaction) => {
    if (!(await recordDelivery(transaction, target, keys))) return null;
    const candidates = await pushCandidates(transaction, tenantId, integrationId);
    const outcomes: PushedDeployment[] = [];
    // The deployments are locked in the order of their ids, as in all code that locks several deployments.
    for (const { id } of candidates.filter((candidate) => concerns(candidate, event)))
      outcomes.push(await applyOrRecordFailure(deps, transaction, delivery, id));
    return outcomes;
  });
}
