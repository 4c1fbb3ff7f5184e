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

/** What a push that a webhook tells of does: all of it in one transaction with the note that it was taken. */

export interface PushDelivery {
  readonly target: Pick<WebhookTarget, 'tenantId' | 'integrationId'>;
  /** What it is told apart by (domain/builds/webhook-signature.ts). */
  readonly keys: readonly string[];
  readonly event: BranchEvent;
}

/** `nothing_to_build`: the commit is built already, or a newer one is; or the branch was deleted. */
export type PushOutcome = 'revision_made' | 'nothing_to_build' | 'failed';

export interface PushedDeployment {
  readonly deploymentId: string;
  readonly outcome: PushOutcome;
  /** null: none was made. */
  readonly revisionId: string | null;
}

const ACTOR: Actor = { kind: 'system', name: 'webhook' };

/** The order of pushes was not clear: the branch says which commit is the newest. Git hosts may lag for a moment. */
const LOOK_SOON_SECONDS = 10;

function tracks(repoRef: string | null, { push, defaultBranch }: BranchEvent): boolean {
  const tracked = trackedBranch(repoRef);
  if (tracked === null) return false;
  return push.branch === (tracked === 'default' ? defaultBranch : tracked.name);
}

function concerns({ repoUrl, repoRef }: PushCandidate, event: BranchEvent): boolean {
  const key = repositoryKey(repoUrl);
  return key !== null && event.repositories.has(key) && tracks(repoRef, event);
}

/** It may have been changed between the search and the lock. */
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
  const keep = (told: { watch: BranchWatch; sure: boolean }) =>
    writeBranchWatch(transaction, tenantId, deploymentId, told.watch, told.sure ? null : LOOK_SOON_SECONDS);
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

/** What the history may tell of a failure; null: it is not this deployment's, and all of the delivery is to come again. */
function refusalOf(error: unknown): string | null {
  if (error instanceof StoreUnavailable || error instanceof StoreContention) return null;
  const { statusCode, detail } = toApiError(error);
  if (statusCode >= 500) return 'it failed because of a fault on our side';
  return typeof detail === 'string'
    ? detail
    : detail.map(({ loc, msg }) => `${loc.join('.')} ${msg}`).join('; ');
}

/** One that cannot be revised loses nobody else the push. */
async function applyOrTell(
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
    deps.logger.warn({ deploymentId, err: String(error) }, 'failed to make a revision of a push');
    const { tenantId } = delivery.target;
    const { branch, after } = delivery.event.push;
    const message = `Commit ${shortCommit(after ?? '')} of branch ${branch} was not made into a revision: ${refusal.replace(/\.$/, '')}.`;
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
 * Takes a push: each deployment of the integration that tracks the branch gets a revision of its newest commit.
 * @returns what became of each; null: the delivery was taken before
 */
export function takePush(deps: ApiDeps, delivery: PushDelivery): Promise<PushedDeployment[] | null> {
  const { target, keys, event } = delivery;
  const { tenantId, integrationId } = target;
  return deps.database.forTenant(tenantId).transaction(async (transaction) => {
    if (!(await recordDelivery(transaction, target, keys))) return null;
    const candidates = await pushCandidates(transaction, tenantId, integrationId);
    const outcomes: PushedDeployment[] = [];
    // In the order of ids, as everybody who locks several.
    for (const { id } of candidates.filter((candidate) => concerns(candidate, event)))
      outcomes.push(await applyOrTell(deps, transaction, delivery, id));
    return outcomes;
  });
}
