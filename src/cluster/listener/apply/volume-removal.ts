import { confirmsRemoval, isClaimConfirmed } from '../../../contract/resource/volume-confirmation.ts';
import type { Logger } from '../../../domain/core/logger.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/client/clock.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import { keyOf } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import { type ReconcileOutcome, runWorkers } from '../../kube/queue/controller.ts';
import { WorkQueue } from '../../kube/queue/work-queue.ts';
import { TermOver } from '../refusal.ts';
import { deploymentIdOf } from '../report/observe.ts';
import { isEdited, type Resource, type ResourceView } from '../resource-view.ts';
import type { Term } from '../session/term.ts';
import { belongsToDeployment } from './env-secrets.ts';
import type { ResourceLocks } from './resource-locks.ts';
import { databaseClaim } from './volume-confirmation.ts';

/**
 * Deletes the volume of a database that is switched off, after its owner has confirmed this in the hub. As in a purge, only
 * the listener deletes data, because the operator has no right to. The operator reports when nothing uses the volume.
 */

/** More than one, so that a resource that is being applied does not delay the removals of other deployments. */
const REMOVALS_AT_ONCE = 4;

export interface VolumeRemovalOptions {
  readonly client: Pick<KubeClient, 'delete' | 'listAll'>;
  readonly view: Pick<ResourceView, 'get' | 'refresh' | 'addHandlers'>;
  /** Locks that the writes of custom resources also hold. */
  readonly locks: ResourceLocks;
  readonly term: Pick<Term, 'isValid'>;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Fires to stop new work. */
  readonly signal: AbortSignal;
  /** Fires to abort current work. */
  readonly abort: AbortSignal;
}

/**
 * Whether the volume is to be deleted now: the spec that the hub wrote confirms it, and the operator has observed for this
 * spec that nothing uses the volume. The confirmation applies to one claim. A spec that another account has edited confirms
 * nothing.
 */
export function isVolumeToRemove(resource: Resource): boolean {
  const { spec, status, metadata } = resource;
  const isLeaving = spec?.deletion !== undefined || metadata.deletionTimestamp !== undefined;
  return (
    confirmsRemoval(spec) &&
    isClaimConfirmed(resource, status?.keptVolume?.uid) &&
    !isLeaving &&
    deploymentIdOf(resource) !== null &&
    status?.observedGeneration === metadata.generation &&
    status?.keptVolume?.unused === true &&
    !isEdited(resource)
  );
}

/**
 * Deletes the volume. The resource is read again directly before the deletion, because the owner may have switched the
 * database on in the meantime. The lock prevents that this listener applies such a change between the read and the deletion.
 */
async function removeVolume(
  cached: Resource,
  options: VolumeRemovalOptions,
  signal: AbortSignal,
): Promise<void> {
  const { client, view, term, logger, locks } = options;
  const { namespace, name } = cached.metadata;
  const deploymentId = deploymentIdOf(cached) ?? '';
  const claim = await databaseClaim(cached.metadata, deploymentId, client, signal);
  if (claim === undefined || !belongsToDeployment(claim, deploymentId)) return;
  const { uid, resourceVersion, deletionTimestamp } = claim.metadata;
  if (deletionTimestamp !== undefined) return;
  await locks.run(keyOf(cached), async () => {
    // guard: read-before-volume-removal
    const live = await view.refresh(namespace, name, signal);
    if (live === undefined || !isVolumeToRemove(live)) return;
    if (live.status?.keptVolume?.uid !== uid || deploymentIdOf(live) !== deploymentId) return;
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

/** Resolves when the signal has fired and all work has ended. */
export async function removeConfirmedVolumes(options: VolumeRemovalOptions): Promise<void> {
  const { view, logger, clock, signal, abort } = options;
  const queue = new WorkQueue({ clock });
  const wake = (resource: Resource) => {
    if (isVolumeToRemove(resource)) queue.add(keyOf(resource));
  };
  const unfollow = view.addHandlers({ added: wake, updated: wake, deleted: () => undefined });
  try {
    await runWorkers({
      queue,
      reconcile: async (key, ending): Promise<ReconcileOutcome> => {
        const [namespace = '', name = ''] = key.split('/');
        const resource = view.get(namespace, name);
        if (resource !== undefined && isVolumeToRemove(resource))
          await removeVolume(resource, options, ending);
        return { kind: 'settled' };
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
