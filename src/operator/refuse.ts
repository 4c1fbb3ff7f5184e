import type { Reason } from '../domain/conditions.ts';
import type { Outcome } from '../kube/controller.ts';
import { isKubeError } from '../kube/errors.ts';
import type { ClusterView } from './cluster-view.ts';
import { nextOverdue, resourceHolds } from './deletion-holds.ts';
import { readHolds, readsDueAt } from './leaving-reads.ts';
import type { Remembered } from './memory.ts';
import { SHORTEST_PAUSE_MS, staleOutcome } from './next-look.ts';
import type { Observed, ObservedResource } from './observed.ts';
import { rightfulOther } from './ownership.ts';
import type { ReconcilerOptions } from './reconciler-options.ts';
import { reportStatus } from './report-status.ts';
import { leavingStatus, refusedStatus, unreadableStatus } from './untended-status.ts';

/** Resources for which nothing is done: that is told, and when to look again. */

/** Until it is looked whether the one that a copy was made of is still there: longer than its listener needs to bring it back. */
const COPY_PAUSE_MS = 30_000;

/** What keeps a resource from its end is read again after so long, where no cache would tell that it has changed. */
const HOLDS_PAUSE_MS = 30_000;

/**
 * Nothing is done for what is being deleted; the garbage collector has its own say. What blocks it is told. Where the API
 * server takes no status of it (see refuseSpec), nothing is told either.
 */
export async function tellLeaving(
  observed: Observed,
  options: ReconcilerOptions,
  remembered: Remembered,
  signal: AbortSignal,
): Promise<Outcome> {
  const { resource } = observed;
  const now = options.clock.date();
  const cached = resourceHolds(observed, now);
  const readsAt = cached.length > 0 ? null : readsDueAt(observed);
  const areDue = readsAt !== null && readsAt <= now.getTime();
  const holds = areDue ? await readHolds(observed, options.client, signal) : cached;
  const status = leavingStatus(resource, holds, now);
  try {
    const { stale } = await reportStatus(resource, status, options, remembered, { signal, atOnce: true });
    if (stale) return staleOutcome();
  } catch (error) {
    if (!isKubeError(error, 'invalid')) throw error;
  }
  const nextReads = readsAt === null ? undefined : areDue ? now.getTime() + HOLDS_PAUSE_MS : readsAt;
  const times = [nextReads, nextOverdue(observed, now.getTime())].filter((time) => time !== undefined);
  if (times.length === 0) return { kind: 'settled' };
  return { kind: 'requeue', afterMs: Math.max(SHORTEST_PAUSE_MS, Math.min(...times) - now.getTime()) };
}

/** Name of the resource that this one is a copy of; null: of none. */
export function otherOwner(resource: ObservedResource, view: ClusterView): string | null {
  const { deploymentId } = resource.spec;
  if (deploymentId === undefined) return null;
  const { namespace } = resource.metadata;
  return rightfulOther(resource, deploymentId, view.resourcesOf(namespace, deploymentId));
}

/** Nothing is made for a copy, and nothing of the other is touched; should the other go, the copy takes its place. */
export async function refuseCopy(
  resource: ObservedResource,
  other: string,
  options: ReconcilerOptions,
  remembered: Remembered,
  signal: AbortSignal,
): Promise<Outcome> {
  const message = `the ManagedDeployment ${other} has the same spec.deploymentId: leave it out, or delete this one`;
  const status = refusedStatus(resource, 'Conflict', message, options.clock.date());
  const { stale } = await reportStatus(resource, status, options, remembered, { signal, atOnce: true });
  return stale ? staleOutcome() : { kind: 'requeue', afterMs: COPY_PAUSE_MS };
}

/**
 * The CRD lets through what this version cannot read: said in the status, tried again when somebody changes it. Each event
 * of what runs is a look all the same, and is told. Where an earlier CRD let through so much that the API server takes no
 * status of it either, an Event says it.
 */
export async function refuseSpec(
  observed: Observed,
  problems: string,
  options: ReconcilerOptions,
  remembered: Remembered,
  signal: AbortSignal,
): Promise<Outcome> {
  const message = `the spec is not valid: ${problems}`;
  const status = unreadableStatus(observed, message, options.clock.date());
  const { resource } = observed;
  try {
    const { stale } = await reportStatus(resource, status, options, remembered, { signal, atOnce: true });
    if (stale) return staleOutcome();
  } catch (error) {
    if (!isKubeError(error, 'invalid')) throw error;
    options.events.record(resource, 'Warning', 'Refused' satisfies Reason, message);
  }
  return { kind: 'terminal', error: new Error(`failed to read the spec: ${problems}`) };
}
