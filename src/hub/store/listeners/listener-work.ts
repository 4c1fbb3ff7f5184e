import type { WorkBlocked } from '../../../domain/conditions/explain-facts.ts';
import { uuidv7 } from '../../../domain/core/id.ts';
import type { Reader, Transaction } from '../core/database.ts';
import { appendEvents, type NewEvent } from '../core/events.ts';
import { dueWorkStatement } from '../sql/work/due-work.ts';
import { type HandedOut, handOutStatement } from '../sql/work/hand-out.ts';
import { nextDueStatement } from '../sql/work/next-due.ts';
import { takeLeftoversStatement } from '../sql/work/take-leftovers.ts';
import { type DuePurge, type DueWork, loadWork } from './listener-work-rows.ts';

/**
 * Finds and hands out due work of a listener. The state is a dirty marker instead of a queue. An item is due while
 * generation > acknowledged_generation and next_attempt_at has passed. Therefore no work is lost, however notifications
 * and commits interleave. A deletion is never acknowledged. The item of a deletion suspends the deployment during the
 * grace period, and is a purge after the grace period.
 */

/** The caller's result for a due item. */
export type HandOut<Item> =
  | {
      kind: 'item';
      item: Item;
      /** Hash of the custom resource's spec; null: a purge. */
      specHash: string | null;
      /** Whether the revision should start (it is not suspended). */
      starts: boolean;
    }
  /** The response is full. The item remains due. */
  | { kind: 'later' }
  /** The item cannot be rendered now and is due again later. The history records the reason once. */
  | ({ kind: 'failed' } & WorkBlocked);

function handedOut<Item>(work: DueWork, result: HandOut<Item>): HandedOut {
  const id = work.kind === 'apply' ? work.deployment.id : work.deploymentId;
  const starts = result.kind === 'item' && result.starts && work.kind === 'apply';
  return {
    id,
    specHash: result.kind === 'item' ? result.specHash : null,
    revisionId: starts ? (work.revision?.id ?? null) : null,
    eventId: uuidv7(),
  };
}

async function noteHandedOut(
  transaction: Transaction,
  listenerId: string,
  items: readonly HandedOut[],
): Promise<void> {
  if (items.length === 0) return;
  await transaction.run(handOutStatement, {
    items: JSON.stringify(items),
    listenerId,
    deploymentIds: items.map(({ id }) => id),
    revisionIds: items.flatMap(({ revisionId }) => revisionId ?? []),
  });
}

/** The reason is recorded only at the first attempt after a change, because the item is retried every minute. */
function failureEvents(work: DueWork, result: HandOut<unknown>): NewEvent[] {
  if (result.kind !== 'failed' || work.kind !== 'apply' || work.attempts > 0) return [];
  const { id: deploymentId, tenantId } = work.deployment;
  const revision = work.revision === null ? '' : `Revision ${work.revision.number} `;
  return [
    {
      tenantId,
      deploymentId,
      revisionId: work.revision?.id ?? null,
      actor: { kind: 'system' },
      reason: result.reason,
      message: `${revision}was not handed to the listener: ${result.message} Berth retries this.`,
    },
  ];
}

async function leftovers(transaction: Transaction, listenerId: string, limit: number): Promise<DuePurge[]> {
  const rows = await transaction.run(takeLeftoversStatement, { listenerId, limit });
  return rows.map(({ id: deploymentId, envRevisions: revisions, ...row }) => ({
    kind: 'purge',
    deploymentId,
    revisions,
    // A tombstone does not have the hosts. The purge before it has removed their certificates.
    domains: [],
    ...row,
  }));
}

/**
 * Hands out due work: calls `handOut` for each item in a fair order and records the result, in one transaction.
 * `handOut` must have no side effects, because the transaction may run again.
 */
export async function takeWork<Item>(
  transaction: Transaction,
  listenerId: string,
  limit: number,
  handOut: (due: DueWork) => HandOut<Item>,
): Promise<Item[]> {
  const due = await transaction.run(dueWorkStatement, { listenerId, limit });
  const items: Item[] = [];
  const given: HandedOut[] = [];
  const failures: NewEvent[] = [];
  for (const work of await loadWork(
    transaction,
    due.map(({ id }) => id),
  )) {
    const result = handOut(work);
    if (result.kind === 'later') break;
    given.push(handedOut(work, result));
    failures.push(...failureEvents(work, result));
    if (result.kind === 'item') items.push(result.item);
  }
  await noteHandedOut(transaction, listenerId, given);
  await appendEvents(transaction, failures);
  // Leftovers are queried only if a leftover is due, because each statement delays a waiting change.
  if (due[0]?.leftovers === false) return items;
  for (const purge of await leftovers(transaction, listenerId, limit - given.length)) {
    const result = handOut(purge);
    if (result.kind === 'item') items.push(result.item);
  }
  return items;
}

/**
 * Time until the next item is due, in milliseconds (≤ 0: now; null: no item waits), and the current epoch. The query is
 * cheap and writes nothing. null when the scope contains no listener with this id.
 */
export async function checkForWork(
  reader: Reader,
  listenerId: string,
): Promise<{ epoch: number; dueInMs: number | null } | null> {
  const [row] = await reader.run(nextDueStatement, { listenerId });
  return row === undefined ? null : { epoch: row.leaseEpoch, dueInMs: row.dueInMs };
}
