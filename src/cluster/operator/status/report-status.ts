import { isDeepStrictEqual } from 'node:util';
import { MANAGED_DEPLOYMENT } from '../../../contract/resource/definition.ts';
import type { ManagedDeploymentStatus } from '../../../contract/resource/managed-deployment.ts';
import { canonicalJson } from '../../../domain/core/hash.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import type { KubeObject } from '../../kube/client/object.ts';
import { type Remembered, versionOf } from '../memory.ts';
import { hasOtherNames, statusToStore } from '../observe/stored-names.ts';
import type { ObservedResource } from '../observed.ts';
import { asDate, reconcileTime } from '../reconcile-time.ts';
import type { ReconcilerOptions } from '../reconciler-options.ts';
import type { Reported } from '../requeue.ts';
import { transitions } from './transitions.ts';

/**
 * Delay of changes in counts and messages only. A change of state usually follows soon, and the write of that change
 * includes counts and messages.
 */
const COUNTS_WAIT_MS = 1_000;

export interface ReportStatusOptions {
  readonly signal: AbortSignal;
  /** Counts and messages are also written at once, because no later reconcile would include them. */
  readonly atOnce?: boolean;
}

/**
 * Writes the status if it has changed. Changes in counts and messages only are delayed, and written at most once a
 * second.
 */
export async function reportStatus(
  resource: ObservedResource,
  status: ManagedDeploymentStatus,
  { client, view, events, clock, logger }: ReconcilerOptions,
  remembered: Remembered,
  { signal, atOnce = false }: ReportStatusOptions,
): Promise<Reported> {
  const change = hasOtherNames(resource) ? 'state' : statusChange(resource.status, status);
  if (change === 'none') {
    remembered.countsSince = undefined;
    return {};
  }
  if (change === 'counts' && !atOnce) {
    const time = reconcileTime(clock);
    remembered.countsSince ??= time.ticks;
    const dueAt = asDate(remembered.countsSince + COUNTS_WAIT_MS, time);
    if (dueAt > time.date) return { dueAt };
  }
  const { apiVersion, kind } = MANAGED_DEPLOYMENT;
  const { name, namespace, uid, resourceVersion } = resource.metadata;
  let written: KubeObject;
  try {
    written = await client.replaceStatus(
      {
        apiVersion,
        kind,
        // guard: version-in-status-writes
        metadata: { name, namespace, uid, resourceVersion },
        status: statusToStore(resource, status),
      },
      { signal },
    );
    view.noteWrite(written);
    remembered.written = [...remembered.written, versionOf(written)];
  } catch (error) {
    if (isKubeError(error, 'conflict', 'not_found')) return { stale: true };
    throw error;
  }
  remembered.countsSince = undefined;
  for (const { type, reason, message } of transitions(resource.status, status)) {
    events.record(resource, type, reason, message);
    logger.info({ resource: `${namespace}/${name}`, reason }, 'reported a status transition');
  }
  return { written };
}

type StatusChange = 'none' | 'counts' | 'state';

/** Whether a status must be written. `counts`: only counts and messages changed, which may be delayed. */
function statusChange(
  before: ManagedDeploymentStatus | undefined,
  after: ManagedDeploymentStatus,
): StatusChange {
  // In the usual case, no serialization is needed.
  if (isDeepStrictEqual(before, after)) return 'none';
  if (canonicalJson(before ?? {}) === canonicalJson(after)) return 'none';
  if (canonicalJson(withoutCounts(before ?? {})) !== canonicalJson(withoutCounts(after))) return 'state';
  return isVolumeAlone(before, after) ? 'none' : 'counts';
}

/** The first report of a volume with the requested size is not urgent. This report is written with the next change. */
function isVolumeAlone(before: ManagedDeploymentStatus | undefined, after: ManagedDeploymentStatus): boolean {
  const { volume, ...rest } = after;
  if (before === undefined || before.volume !== undefined || volume === undefined) return false;
  return canonicalJson(before) === canonicalJson(rest);
}

/** Whether the volume causes no change of state, because it does not exist yet, or has the requested size. */
function isOrdinary({ volume }: ManagedDeploymentStatus): boolean {
  if (volume === undefined) return true;
  const { requested, capacity, former } = volume;
  return capacity === '0' || (capacity === requested && former === undefined);
}

function withoutCounts(status: ManagedDeploymentStatus): object {
  const { components: _, conditions, symptoms, volume, ...rest } = status;
  return {
    ...rest,
    volume: isOrdinary(status) ? undefined : volume,
    conditions: conditions?.map(({ message: _message, ...condition }) => condition),
    symptoms: symptoms?.map(({ message: _message, failureSource: _failureSource, ...symptom }) => symptom),
  };
}
