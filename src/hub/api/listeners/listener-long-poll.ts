import type { WorkItem } from '../../../contract/protocol/work-protocol.ts';
import type { Scope } from '../../store/core/database.ts';
import { checkEpoch, handOutAgain, StaleEpoch } from '../../store/listeners/listener-lease.ts';
import { checkForWork, type HandOut, takeWork } from '../../store/listeners/listener-work.ts';
import type { DueWork } from '../../store/listeners/listener-work-rows.ts';
import type { ApiDeps } from '../core/deps.ts';
import { UNOBSERVED } from '../observe/observer.ts';
import { itemRendering, toWorkItem, whyNotRendered } from './listener-work-item.ts';

/** The long poll for work. */

export type WorkDeps = Pick<
  ApiDeps,
  | 'span'
  | 'secretBox'
  | 'hints'
  | 'logger'
  | 'policy'
  | 'registry'
  | 'registryAuthority'
  | 'clock'
  | 'observer'
>;

/** Time in milliseconds after which a waiting request queries again, because notifications can be lost. */
// guard: poll-without-notification
const REQUERY_MS = 5000;
/** Time after which the request queries again if work is due, but another transaction holds the rows. */
const BUSY_MS = 100;
/** Maximum size of a response, in bytes of JSON. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
/** The commit does not wait for the disk, because a lost record of handed-out items only makes them due again. */
const HANDING_OUT = { durable: false, byIndex: true } as const;

/**
 * Renders due items until the response is full. An item that cannot be rendered is postponed, so that it does not block
 * other items.
 */
function renderer(deps: WorkDeps) {
  let bytes = 0;
  const rendering = itemRendering(deps);
  return (due: DueWork): HandOut<WorkItem> => {
    if (bytes > MAX_ANSWER_BYTES) return { kind: 'later' };
    try {
      const item = toWorkItem(rendering, due);
      bytes += JSON.stringify(item).length;
      if (item.kind === 'purge' || due.kind === 'purge')
        return { kind: 'item', item, specHash: null, starts: false };
      // The desired revision, not the revision that is being built to replace it.
      const starts = !item.spec.suspend && item.spec.revision.id === due.revision?.id;
      return { kind: 'item', item, specHash: item.spec_hash, starts };
    } catch (error) {
      const deploymentId = due.kind === 'apply' ? due.deployment.id : due.deploymentId;
      const why = whyNotRendered(error);
      // The text of the error may quote the record.
      const err = error instanceof Error ? error.name : 'unknown';
      const fields = { deploymentId, err, reason: why.reason };
      deps.logger.error(
        fields,
        'failed to create the work item of a deployment; the deployment is blocked until the ' +
          'cause is fixed',
      );
      return { kind: 'failed', ...why };
    }
  };
}

/** Logs one step of a change on its way from the request to the cluster. */
function logHandOut(
  { logger, observer = UNOBSERVED, span }: WorkDeps,
  listenerId: string,
  item: WorkItem,
  beganAt: number,
): void {
  const { kind, deployment_id: deploymentId, generation } = item;
  observer.handedOut(kind);
  const revisionId = item.kind === 'apply' ? item.spec.revision?.id : undefined;
  logger.info({ listenerId, deploymentId, revisionId, generation, kind }, 'handed out work');
  span?.({
    name: 'hand out work',
    change: { deploymentId, generation },
    attributes: { 'berth.listener_id': listenerId, 'berth.revision_id': revisionId, 'berth.work': kind },
    beganAt,
    endedAt: Date.now(),
  });
}

export interface WorkRequest {
  listenerId: string;
  epoch: number;
  limit: number;
  /** Milliseconds. */
  wait: number;
  signal: AbortSignal;
  /** The previous response did not arrive, so its items are due again at once. */
  lost: boolean;
}

/** Time until the next item is due, in milliseconds; null: no item waits. @throws StaleEpoch */
async function dueIn(scope: Scope, listenerId: string, epoch: number): Promise<number | null> {
  const found = await scope.read((reader) => checkForWork(reader, listenerId));
  if (found?.epoch !== epoch) throw new StaleEpoch(epoch, found?.epoch ?? 0);
  return found.dueInMs;
}

/**
 * Returns due items as soon as items are due, or an empty list when the time has elapsed or the signal aborts.
 * @throws StaleEpoch
 */
export async function waitForWork(deps: WorkDeps, scope: Scope, request: WorkRequest): Promise<WorkItem[]> {
  const { listenerId, epoch, limit, signal } = request;
  const end = performance.now() + request.wait;
  if (request.lost) {
    await scope.transaction(async (transaction) => {
      await checkEpoch(transaction, listenerId, epoch);
      await handOutAgain(transaction, listenerId);
    });
  }
  // After a notification, due items are claimed without a check, because usually some items are due.
  let hinted = false;
  for (;;) {
    const ticket = deps.hints.ticket(listenerId);
    const dueInMs = hinted ? 0 : await dueIn(scope, listenerId, epoch);
    const due = dueInMs !== null && dueInMs <= 0;
    const queriedAt = Date.now();
    // Items are not handed to a disconnected client, because they would be due again only after a timeout.
    const items =
      due && !signal.aborted
        ? await scope.transaction(async (transaction) => {
            // guard: epoch-of-work
            await checkEpoch(transaction, listenerId, epoch);
            return takeWork(transaction, listenerId, limit, renderer(deps));
          }, HANDING_OUT)
        : [];
    for (const item of items) logHandOut(deps, listenerId, item, queriedAt);
    const left = end - performance.now();
    if (items.length > 0 || left <= 0 || signal.aborted) return items;
    // No items were due after the notification. A query finds when the next item is due.
    if (hinted) {
      hinted = false;
      continue;
    }
    const pause = due ? BUSY_MS : Math.min(dueInMs ?? REQUERY_MS, REQUERY_MS);
    hinted = await deps.hints.wait(listenerId, ticket, Math.min(left, Math.ceil(pause) + 1), signal);
  }
}
