import type { VolumeRemovalRequest } from '../../../contract/protocol/removal-protocol.ts';
import {
  confirmsRemoval,
  isClaimConfirmed,
  NO_CLAIM,
  notedClaim,
} from '../../../contract/resource/volume-confirmation.ts';
import type { Logger } from '../../../domain/core/logger.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/client/clock.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import { type KubeObject, keyOf } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import { type ReconcileOutcome, runWorkers } from '../../kube/queue/controller.ts';
import { WorkQueue } from '../../kube/queue/work-queue.ts';
import { TermOver } from '../refusal.ts';
import { deploymentIdOf } from '../report/observe.ts';
import { isEdited, type Resource, type ResourceView, recordGenerationOf } from '../resource-view.ts';
import { type HubClient, HubError } from '../session/hub-client.ts';
import type { Term } from '../session/term.ts';
import { belongsToDeployment } from './env-secrets.ts';
import type { ResourceLocks } from './resource-locks.ts';
import { databaseClaim } from './volume-confirmation.ts';

/**
 * Deletes the volume of a database that is switched off, after its owner has confirmed this in the hub. As in a purge, only
 * the listener deletes data, because the operator has no right to. The operator reports when nothing uses the volume. The hub
 * permits the deletion if its latest desired state confirms it.
 */

/** More than one, so that a resource that is being applied does not delay the removals of other deployments. */
const REMOVALS_AT_ONCE = 4;

export interface VolumeRemovalOptions {
  readonly client: Pick<KubeClient, 'delete' | 'listAll'>;
  readonly view: Pick<ResourceView, 'get' | 'refresh' | 'addHandlers'>;
  /** Locks that the writes of custom resources also hold. */
  readonly locks: ResourceLocks;
  readonly hub: Pick<HubClient, 'volumeRemoval'>;
  readonly term: Pick<Term, 'epoch' | 'isValid' | 'end'>;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Fires to stop new work. */
  readonly signal: AbortSignal;
  /** Fires to abort current work. */
  readonly abort: AbortSignal;
}

/**
 * Whether the spec that the hub wrote confirms the removal of a claim, and the operator has observed this spec. A spec that
 * another account has edited confirms nothing.
 */
function isRemovalConfirmed(resource: Resource): boolean {
  const { spec, status, metadata } = resource;
  const isLeaving = spec?.deletion !== undefined || metadata.deletionTimestamp !== undefined;
  return (
    confirmsRemoval(spec) &&
    ![undefined, NO_CLAIM].includes(notedClaim(resource)) &&
    !isLeaving &&
    deploymentIdOf(resource) !== null &&
    status?.observedGeneration === metadata.generation &&
    !isEdited(resource)
  );
}

/**
 * Whether the volume is to be deleted now: the operator has observed that nothing uses the volume. The confirmation applies
 * to one claim.
 */
export function isVolumeToRemove(resource: Resource): boolean {
  const { keptVolume } = resource.status ?? {};
  return (
    isRemovalConfirmed(resource) && isClaimConfirmed(resource, keptVolume?.uid) && keptVolume?.unused === true
  );
}

/** Whether the operator has observed no claim, or another one than the confirmed claim. */
function mayBeRemoved(resource: Resource): boolean {
  const { keptVolume, volume } = resource.status ?? {};
  const isSeen =
    isClaimConfirmed(resource, keptVolume?.uid) || (keptVolume === undefined && volume !== undefined);
  return isRemovalConfirmed(resource) && !isSeen;
}

const needsReconcile = (resource: Resource) => isVolumeToRemove(resource) || mayBeRemoved(resource);

/** Asks whether the claim may be deleted, or reports that it is gone. @returns whether the claim may be deleted */
async function callHub(
  resource: Resource,
  claim: VolumeRemovalRequest['claim'],
  { hub, term, logger }: VolumeRemovalOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const request = {
    epoch: term.epoch,
    deployment_id: deploymentIdOf(resource) ?? '',
    generation: Number(recordGenerationOf(resource)),
    claim_uid: notedClaim(resource) ?? '',
    claim,
  };
  const { permitted } = await hub.volumeRemoval(request, { signal });
  logger.info({ ...request, permitted }, 'sent the removal of a volume to the hub');
  return permitted;
}

/**
 * Deletes the volume. The resource is read again directly before the deletion, because another account may have edited it.
 * The hub decides by the latest desired state, which may not have arrived yet. A deletion that the hub has permitted cannot
 * be taken back, so it may also be carried out late, by a process that was suspended. The lock prevents that this listener
 * applies a change between the read and the deletion.
 */
async function removeVolume(
  cached: Resource,
  claim: KubeObject,
  options: VolumeRemovalOptions,
  signal: AbortSignal,
): Promise<void> {
  const { client, view, term, logger, locks } = options;
  const { namespace, name } = cached.metadata;
  const deploymentId = deploymentIdOf(cached);
  const { uid, resourceVersion } = claim.metadata;
  await locks.run(keyOf(cached), async () => {
    const live = await view.refresh(namespace, name, signal);
    if (live === undefined || !isVolumeToRemove(live)) return;
    if (live.status?.keptVolume?.uid !== uid || deploymentIdOf(live) !== deploymentId) return;
    // guard: hub-permits-volume-removal
    if (!(await callHub(live, 'unused', options, signal))) return;
    if (!term.isValid()) throw new TermOver();
    try {
      const at = { namespace, name: claim.metadata.name };
      const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
      await client.delete(RESOURCES.PersistentVolumeClaim, at, { ...preconditions, signal });
    } catch (error) {
      if (!isKubeError(error, 'not_found')) throw error;
      return;
    }
    logger.info({ namespace, claim: claim.metadata.name, deploymentId }, 'deleted the volume of a database');
  });
}

/** Deletes the confirmed claim if nothing uses it, or reports to the hub that it is gone. */
async function reconcile(
  resource: Resource,
  options: VolumeRemovalOptions,
  signal: AbortSignal,
): Promise<void> {
  const deploymentId = deploymentIdOf(resource) ?? '';
  const claim = await databaseClaim(resource.metadata, deploymentId, options.client, signal);
  if (claim === undefined || !isClaimConfirmed(resource, claim.metadata.uid)) {
    await callHub(resource, 'gone', options, signal);
    return;
  }
  const isLeaving = claim.metadata.deletionTimestamp !== undefined;
  if (isLeaving || !belongsToDeployment(claim, deploymentId) || !isVolumeToRemove(resource)) return;
  await removeVolume(resource, claim, options, signal);
}

/** A hub that does not have the call may be upgraded. */
const OLDER_HUB_PAUSE_MS = 600_000;

/** @throws the error, if a retry with backoff may help */
function outcomeOf(error: unknown, { term, logger }: VolumeRemovalOptions): ReconcileOutcome {
  if (!(error instanceof HubError)) throw error;
  if (error.isOfOlderHub) {
    logger.error(
      { err: error.message },
      'did not delete the volume of a database: the hub has an earlier version that cannot permit this; upgrade the hub',
    );
    return { kind: 'requeue', afterMs: OLDER_HUB_PAUSE_MS };
  }
  if (error.kind !== 'conflict') throw error;
  term.end(error.message);
  return { kind: 'settled' };
}

/** Resolves when the signal has fired and all work has ended. */
export async function removeConfirmedVolumes(options: VolumeRemovalOptions): Promise<void> {
  const { view, logger, clock, signal, abort } = options;
  const queue = new WorkQueue({ clock });
  const wake = (resource: Resource) => {
    if (needsReconcile(resource)) queue.add(keyOf(resource));
  };
  const unfollow = view.addHandlers({ added: wake, updated: wake, deleted: () => undefined });
  try {
    await runWorkers({
      queue,
      reconcile: async (key, ending): Promise<ReconcileOutcome> => {
        const [namespace = '', name = ''] = key.split('/');
        const resource = view.get(namespace, name);
        if (resource === undefined || !needsReconcile(resource)) return { kind: 'settled' };
        try {
          await reconcile(resource, options, ending);
          return { kind: 'settled' };
        } catch (error) {
          return outcomeOf(error, options);
        }
      },
      workers: REMOVALS_AT_ONCE,
      logger,
      signal,
      abort,
    });
  } finally {
    unfollow();
  }
}
