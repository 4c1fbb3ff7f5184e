import type { ManagedDeploymentStatus } from '../../../contract/resource/managed-deployment.ts';
import { LABELS } from '../../../contract/resource/names.ts';
import { isClaimConfirmed } from '../../../contract/resource/volume-confirmation.ts';
import { databaseName } from '../../../workloads/names.ts';
import { hasEnded } from '../../kube/client/object.ts';
import { type ChildObject, childId, type Observed } from '../observed.ts';
import { requestedOf } from './data-services.ts';

/** The volume of a database that Berth does not run. It is kept until the deployment is deleted, or its owner removes it. */

type KeptVolume = NonNullable<ManagedDeploymentStatus['keptVolume']>;

const claimOf = ({ resource, children }: Observed): ChildObject | undefined =>
  children.get(childId('PersistentVolumeClaim', databaseName(resource)));

const sizeOf = (claim: ChildObject): string =>
  (claim as { status?: { capacity?: { storage?: string } } }).status?.capacity?.storage ?? requestedOf(claim);

/** Whether neither a workload nor a pod of the database is left that could use the volume. Pods that terminate still use it. */
function isUnused({ resource, children, pods }: Observed): boolean {
  const ofDatabase = pods.filter(({ metadata }) => metadata.labels?.[LABELS.component] === 'database');
  const workload = children.get(childId('StatefulSet', databaseName(resource)));
  return workload === undefined && ofDatabase.every((pod) => hasEnded(pod));
}

/**
 * The kept volume. undefined: no volume is kept.
 * @param isWanted whether the database is to run, because the spec or running pods need it
 */
export function keptVolume(observed: Observed, isWanted: boolean): KeptVolume | undefined {
  const claim = claimOf(observed);
  if (isWanted || claim === undefined) return undefined;
  const { name, uid = '' } = claim.metadata;
  return { name, uid, size: sizeOf(claim), unused: isUnused(observed) };
}

/** The volume in the message of a condition. Empty: no volume is kept. */
export function keptVolumeText(observed: Observed): string {
  const claim = claimOf(observed);
  if (claim === undefined) return '';
  const { name, deletionTimestamp } = claim.metadata;
  const volume = `the volume claim ${name} (${sizeOf(claim)})`;
  if (deletionTimestamp !== undefined) return `. ${capital(volume)} is being deleted`;
  const { deploymentId, database } = observed.resource.spec;
  return deploymentId !== undefined && database.removeVolume === true
    ? removalText(observed, claim, volume)
    : `. ${capital(volume)} is kept until the deployment is deleted or its owner removes it with database.remove_volume`;
}

/** The confirmed removal of a volume whose database is stopped with the whole deployment. Empty: no removal is confirmed. */
export function suspendedRemovalText(observed: Observed): string {
  const claim = claimOf(observed);
  const { deploymentId, database } = observed.resource.spec;
  const isConfirmed = deploymentId !== undefined && database.removeVolume === true;
  if (claim === undefined || !isConfirmed || !isClaimConfirmed(observed.resource, claim.metadata.uid))
    return '';
  return (
    `. The removal of the volume claim ${claim.metadata.name} (${sizeOf(claim)}) is confirmed, and waits until the deployment ` +
    'is switched on and its new pods do not use the database'
  );
}

/** What a confirmed removal waits for, or why the confirmation does not apply to this claim. */
function removalText(observed: Observed, { metadata: { uid } }: ChildObject, volume: string): string {
  if (!isClaimConfirmed(observed.resource, uid)) {
    return (
      `. ${capital(volume)} is kept, because the removal was confirmed for another claim or for none. To remove it, set ` +
      `database.remove_volume to false and, when this is applied, to true`
    );
  }
  const waits =
    observed.resource.spec.deletion !== undefined
      ? 'until the requested deletion of the deployment is cancelled'
      : isUnused(observed)
        ? 'for the listener, which deletes the claim with all data'
        : 'until no workload and no pod of the database is left';
  return `. The removal of ${volume} is confirmed, and waits ${waits}`;
}

const capital = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
