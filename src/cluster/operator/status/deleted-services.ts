import { finalizerHold, foreignFinalizers } from '../../../domain/deployment/deletion-hold.ts';
import { databaseName } from '../../../workloads/names.ts';
import { leavingVolume, volumeNameOf } from '../observe/data-services.ts';
import { childId, liveChild, type Observed } from '../observed.ts';
import { isReadyPod, podsOf } from '../pods/pod-trouble.ts';
import type { Finding } from './conditions.ts';
import { componentPodHold } from './deletion-holds.ts';
import { serviceWorkload } from './service-trouble.ts';

/**
 * Findings for database and cache when their objects are deleted or lost although the spec still needs them.
 */

type Service = 'database' | 'cache';

/**
 * The finding for a data service whose workload is being deleted while a pod is still ready. The status is Unknown,
 * because the pod may end at any moment. null: the workload is not being deleted, or no pod is ready.
 */
export function serviceLeaving(observed: Observed, service: Service): Finding | null {
  const [kind, name] = serviceWorkload(observed.resource, service);
  const workload = observed.children.get(childId(kind, name));
  if (workload?.metadata.deletionTimestamp === undefined) return null;
  if (!podsOf(observed, service).some(isReadyPod)) return null;
  const message = workloadLeaves(observed, service) ?? '';
  const reason = finalizerHold(workload)?.reason ?? 'Reconciling';
  return {
    status: 'Unknown',
    reason,
    message: `the ${service} may become unavailable at any time: ${message}`,
  };
}

/**
 * States that the workload of a data service is being deleted, and what blocks the deletion; null: it is not being
 * deleted.
 */
export function workloadLeaves(observed: Observed, service: Service): string | null {
  const [kind, name] = serviceWorkload(observed.resource, service);
  const workload = observed.children.get(childId(kind, name));
  if (workload?.metadata.deletionTimestamp === undefined) return null;
  const held = finalizerHold(workload);
  const what = held?.message ?? `${kind} ${name} is being deleted`;
  return `${what}; Berth creates it again after the deletion`;
}

/**
 * Why a data service has no pod because of a deletion: its workload is being deleted, or its former pod does not
 * terminate; null: neither.
 */
export function leavingTrouble(observed: Observed, service: Service, now: Date): string | null {
  return workloadLeaves(observed, service) ?? componentPodHold(observed, service, now)?.message ?? null;
}

/** `; PersistentVolumeClaim shop-db is … held by …`; empty: the database's claim is not being deleted. */
export function leavingClaim(observed: Observed): string {
  const claim = leavingVolume(observed);
  if (claim === undefined) return '';
  const held = finalizerHold(claim);
  if (held !== null) return `; ${held.message}`;
  return `; PersistentVolumeClaim ${claim.metadata.name} will be deleted as soon as no pod uses it`;
}

/** States the other finalizers of the database's claim; empty: the claim has no other finalizers. */
export function claimFinalizers(observed: Observed): string {
  const claim = leavingVolume(observed);
  const finalizers = claim === undefined ? [] : foreignFinalizers(claim);
  return finalizers.length === 0 ? '' : `; the claim is also held by the finalizers ${finalizers.join(', ')}`;
}

/** States that the database's claim has lost its PersistentVolume; otherwise null. */
export function volumeLoss(observed: Observed): string | null {
  const claim = liveChild(observed, 'PersistentVolumeClaim', databaseName(observed.resource));
  if (claim === undefined) return null;
  const { phase } = (claim as { status?: { phase?: string } }).status ?? {};
  if (phase !== 'Lost') return null;
  const volume = volumeNameOf(claim);
  const of = volume === undefined ? '' : ` ${volume}`;
  return `PersistentVolumeClaim ${claim.metadata.name} is Lost: its PersistentVolume${of} no longer exists`;
}
