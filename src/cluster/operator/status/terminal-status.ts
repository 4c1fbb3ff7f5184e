import type { Reason } from '../../../domain/conditions/conditions.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import { controllerOf } from '../../kube/client/object.ts';
import { resourceOf } from '../../kube/client/resources.ts';
import type { ReconcileOutcome } from '../../kube/queue/controller.ts';
import type { Identity } from '../access/identity.ts';
import { checkIdentity } from '../access/identity-check.ts';
import { assertLeading } from '../act/leadership-fence.ts';
import { childKindOf } from '../kinds.ts';
import type { Remembered } from '../memory.ts';
import type { Gathered } from '../observe/gather.ts';
import type { Observed } from '../observed.ts';
import type { ReconcileContext } from '../reconcile-context.ts';
import type { ReconcilerOptions } from '../reconciler-options.ts';
import { MIN_REQUEUE_MS, staleOutcome } from '../requeue.ts';
import { conditionOf } from './conditions.ts';
import { nextOverdue, resourceHolds } from './deletion-holds.ts';
import { readHolds, readsDueAt } from './deletion-reads.ts';
import { deletionStatus, rejectedStatus, unreadableStatus } from './inactive-status.ts';
import { reportStatus } from './report-status.ts';

/**
 * Handles resources that the operator does not reconcile. Determines what the operator reports for such resources, and
 * when it checks them again.
 */

/** Pause between two checks of a rejected identity. Events of the other resource trigger a check at once. */
const COPY_PAUSE_MS = 30_000;
/**
 * Pause between two checks of a rejected identity of a new resource. The listener may be about to claim the identity in
 * a Secret, and Secrets are not watched.
 */
const FRESH_PAUSE_MS = 2_000;
const FRESH_MS = 60_000;

/** Pause between two live checks of a deletion. The caches do not show when the result changes. */
const HOLDS_PAUSE_MS = 30_000;

/**
 * Ends the reconcile of a resource that is being deleted, that this version cannot parse, or that may not use its
 * identity. null: the resource is reconciled.
 */
export async function endWithoutReconcile(
  gathered: Exclude<Gathered, { kind: 'absent' }>,
  { options, remembered, signal }: ReconcileContext,
): Promise<ReconcileOutcome | null> {
  const { observed } = gathered;
  const { view, client } = options;
  if (observed.resource.metadata.deletionTimestamp !== undefined) {
    return await reportDeletion(observed, options, remembered, signal);
  }
  if (gathered.kind === 'unreadable') {
    return await rejectSpec(observed, gathered.problems, options, remembered, signal);
  }
  const identity = await checkIdentity(observed, { view, client, remembered, signal });
  return identity.kind === 'own'
    ? null
    : await rejectIdentity(observed, identity, options, remembered, signal);
}

/**
 * Reports what blocks the deletion of a resource. The garbage collector deletes the objects. If the API server accepts
 * no status of the resource (see rejectSpec), nothing is reported.
 */
async function reportDeletion(
  observed: Observed,
  options: ReconcilerOptions,
  remembered: Remembered,
  signal: AbortSignal,
): Promise<ReconcileOutcome> {
  const { resource } = observed;
  const now = options.clock.date();
  const cached = resourceHolds(observed, now);
  const readsAt = cached.length > 0 ? null : readsDueAt(observed);
  const areDue = readsAt !== null && readsAt <= now.getTime();
  const holds = areDue ? await readHolds(observed, options.client, signal) : cached;
  const status = deletionStatus(resource, holds, now);
  try {
    const { stale } = await reportStatus(resource, status, options, remembered, { signal, atOnce: true });
    if (stale) return staleOutcome();
  } catch (error) {
    if (!isKubeError(error, 'invalid')) throw error;
  }
  const nextReads = readsAt === null ? undefined : areDue ? now.getTime() + HOLDS_PAUSE_MS : readsAt;
  const times = [nextReads, nextOverdue(observed, now.getTime())].filter((time) => time !== undefined);
  if (times.length === 0) return { kind: 'settled' };
  return { kind: 'requeue', afterMs: Math.max(MIN_REQUEUE_MS, Math.min(...times) - now.getTime()) };
}

/**
 * Reports that a resource may not use its identity, and removes the workloads that it ran with this identity. If these
 * workloads remained, the selectors of the rightful resource would match their pods. Volumes, Secrets and stored
 * templates are kept.
 */
async function rejectIdentity(
  observed: Observed,
  { reason, message }: Extract<Identity, { kind: 'refused' }>,
  options: ReconcilerOptions,
  remembered: Remembered,
  signal: AbortSignal,
): Promise<ReconcileOutcome> {
  const { resource } = observed;
  const now = options.clock.date();
  const status = rejectedStatus(resource, reason, message, now);
  const { stale } = await reportStatus(resource, status, options, remembered, { signal, atOnce: true });
  if (stale) return staleOutcome();
  await withdraw(observed, options, signal);
  const since = Date.parse(conditionOf(resource, 'Ready')?.lastTransitionTime ?? '');
  const isFresh = Number.isNaN(since) || now.getTime() - since < FRESH_MS;
  return { kind: 'requeue', afterMs: isFresh ? FRESH_PAUSE_MS : COPY_PAUSE_MS };
}

/** Removes owned objects that the selectors of the rightful resource would match. */
async function withdraw(
  { resource, children }: Observed,
  { client, view, mayAct }: ReconcilerOptions,
  signal: AbortSignal,
): Promise<void> {
  for (const child of children.values()) {
    const { name, namespace, uid, deletionTimestamp } = child.metadata;
    const isOwn = controllerOf(child)?.uid === resource.metadata.uid;
    if (!isOwn || deletionTimestamp !== undefined || childKindOf(child.kind)?.removable !== true) continue;
    assertLeading({ signal, mayAct });
    try {
      const at = { name, ...(namespace === undefined ? {} : { namespace }) };
      await client.delete(resourceOf(child), at, { uid, propagationPolicy: 'Background', signal });
      view.noteDelete(child);
    } catch (error) {
      if (!isKubeError(error, 'not_found', 'conflict')) throw error;
    }
  }
}

/**
 * Reports a spec that the CRD accepts but this version cannot parse. The result is terminal until the spec changes.
 * Events of owned objects still trigger a reconcile that updates the status. An earlier CRD may have accepted a spec
 * that is so invalid that the API server also rejects the status. An Event then reports the problem.
 */
async function rejectSpec(
  observed: Observed,
  problems: string,
  options: ReconcilerOptions,
  remembered: Remembered,
  signal: AbortSignal,
): Promise<ReconcileOutcome> {
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
