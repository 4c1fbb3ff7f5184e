import { MANAGED_DEPLOYMENT, type ManagedDeploymentStatus } from '../contract/managed-deployment.ts';
import { isKubeError } from '../kube/errors.ts';
import type { KubeObject } from '../kube/object.ts';
import type { Remembered } from './memory.ts';
import type { Reported } from './next-look.ts';
import type { ObservedResource } from './observed.ts';
import type { ReconcilerOptions } from './reconciler-options.ts';
import { statusChange } from './status-change.ts';
import { transitions } from './transitions.ts';

/** Numbers and wording in the status are written at most this often. */
const STATUS_PAUSE_MS = 1_000;

/** Writes the status if it has changed; numbers alone only once a second. */
export async function reportStatus(
  resource: ObservedResource,
  status: ManagedDeploymentStatus,
  { client, view, events, clock, logger }: ReconcilerOptions,
  remembered: Remembered,
  signal: AbortSignal,
): Promise<Reported> {
  const change = statusChange(resource.status, status);
  if (change === 'none') return {};
  const now = clock.date().getTime();
  const dueAt = remembered.statusWrittenAt + STATUS_PAUSE_MS;
  if (change === 'counts' && dueAt > now) return { dueAt };
  const { apiVersion, kind } = MANAGED_DEPLOYMENT;
  const { name, namespace, uid, resourceVersion } = resource.metadata;
  let written: KubeObject;
  try {
    written = await client.replaceStatus(
      { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion }, status },
      { signal },
    );
    view.noteWrite(written);
    remembered.written = [...remembered.written, written];
  } catch (error) {
    if (isKubeError(error, 'conflict', 'not_found')) return { stale: true };
    throw error;
  }
  remembered.statusWrittenAt = now;
  for (const { type, reason, message } of transitions(resource.status, status)) {
    events.record(resource, type, reason, message);
    logger.info({ resource: `${namespace}/${name}`, reason }, 'told in the status');
  }
  return { written };
}
