import { type LogQuery, neededFor } from '../../../domain/core/log-query.ts';
import type { ObjectQuery } from '../../../domain/core/object-map.ts';
import { LOG_CHANNEL } from '../builds/build-logs.ts';
import type { Reader, Transaction } from '../core/database.ts';
import { and, desc, eq, getTableColumns, isNotNull, or, sql } from '../core/drizzle.ts';
import type { SealedSecrets } from '../core/records.ts';
import { listeners, logChunks, logRequests, secretSets } from '../core/schema.ts';
import { hasLogRequestsStatement } from '../sql/logs/has-log-requests.ts';
import { takeLogRequestsStatement } from '../sql/logs/take-log-requests.ts';
import { StaleEpoch } from './listener-lease.ts';

/**
 * Transfers workload logs, and objects of deployments, from a listener to a reader, which may be connected to another replica
 * of the API. Stores the readers, and the chunks that were not read yet. The chunks are removed with the reader.
 */

/** What a reader requests. */
export type ReadQuery =
  | { readonly kind: 'logs'; readonly query: LogQuery }
  | { readonly kind: 'objects'; readonly query: ObjectQuery };

/** A request to read logs or objects. */
export interface NewLogRequest {
  /** UUID v7. */
  readonly id: string;
  readonly tenantId: string;
  readonly deploymentId: string;
  readonly listenerId: string;
  readonly read: ReadQuery;
  /** X-Request-Id of the reader's request. */
  readonly httpRequestId: string;
}

/** Time without a renewal after which a reader is gone, for example because its process was killed. */
const EXPIRY = sql`now() + interval '15 seconds'`;

const IS_VALID = sql`${logRequests.expiresAt} > now()`;

/** SQL that wakes the reader or the listener with this id. */
const notify = (id: string | typeof logRequests.id | typeof logRequests.listenerId) =>
  sql`pg_notify(${LOG_CHANNEL}, ${id}::text)`;

type Place = Pick<NewLogRequest, 'listenerId'> & { readonly kind: ReadQuery['kind'] };

/** Readers of logs and of objects have separate places, so that a tenant that follows logs can still read objects. */
const atPlace = ({ listenerId, kind }: Place) =>
  and(eq(logRequests.listenerId, listenerId), eq(logRequests.kind, kind), IS_VALID);

/** Number of readers per tenant, most readers first. */
const countReaders = ({ drizzle }: Transaction, place: Place) => {
  const readers = sql<number>`count(*)::int`;
  return drizzle
    .select({ tenantId: logRequests.tenantId, readers })
    .from(logRequests)
    .where(atPlace(place))
    .groupBy(logRequests.tenantId)
    .orderBy(desc(readers), logRequests.tenantId);
};

/**
 * Removes the newest request of the tenant. Followers are removed before other readers, which finish in a moment.
 */
async function removeNewest({ drizzle }: Transaction, place: Place, tenantId: string): Promise<void> {
  const newest = drizzle
    .select({ id: logRequests.id })
    .from(logRequests)
    .where(and(atPlace(place), eq(logRequests.tenantId, tenantId)))
    .orderBy(desc(sql`(${logRequests.query} ->> 'follow')::boolean`), desc(logRequests.id))
    .limit(1);
  await drizzle
    .delete(logRequests)
    .where(eq(logRequests.id, newest))
    .returning({ notified: notify(logRequests.id) });
}

/**
 * Adds a reader and wakes the listener. If all places are taken, the tenant with the most readers loses a place to a
 * tenant that has fewer readers, including the new reader. Therefore no tenant can exclude other tenants. Platform
 * scope, because all readers of a listener count.
 * @param most maximum number of readers of one listener, per tenant and of all tenants
 * @returns whether a place was available
 */
export async function openLogRequest(
  transaction: Transaction,
  { id, tenantId, deploymentId, listenerId, read, httpRequestId }: NewLogRequest,
  most: { readonly tenant: number; readonly all: number },
): Promise<boolean> {
  const { drizzle } = transaction;
  // The lock serializes count and insert for each listener.
  const lock = `log requests of ${listenerId}`;
  await drizzle.execute(sql`SELECT pg_advisory_xact_lock(hashtextextended(${lock}, 0))`);
  await drizzle.delete(logRequests).where(sql`${logRequests.expiresAt} < now()`);
  const { kind, query } = read;
  const counts = await countReaders(transaction, { listenerId, kind });
  const own = counts.find((count) => count.tenantId === tenantId)?.readers ?? 0;
  if (own >= most.tenant) return false;
  if (counts.reduce((sum, { readers }) => sum + readers, 0) >= most.all) {
    const [first] = counts;
    if (first === undefined || first.readers <= own + 1) return false;
    await removeNewest(transaction, { listenerId, kind }, first.tenantId);
  }
  const isOfObjects = read.kind === 'objects';
  const needs = read.kind === 'logs' ? neededFor(read.query) : null;
  await drizzle
    .insert(logRequests)
    .values({
      id,
      tenantId,
      deploymentId,
      listenerId,
      kind,
      query: query as LogQuery,
      needs,
      taken: needs !== null || isOfObjects,
      awaitsListener: isOfObjects,
      httpRequestId,
      expiresAt: EXPIRY,
    })
    .returning({ notified: notify(logRequests.listenerId) });
  return true;
}

/** Removes a reader that has disconnected. */
export async function closeLogRequest(transaction: Transaction, id: string): Promise<void> {
  await transaction.drizzle.delete(logRequests).where(eq(logRequests.id, id));
}

/** Optional features that a listener has reported; null: it has not taken the lease since hubs record them. */
export async function listenerAbilities(
  reader: Reader,
  listenerId: string,
): Promise<readonly string[] | null> {
  const [row] = await reader.drizzle
    .select({ abilities: listeners.abilities })
    .from(listeners)
    .where(eq(listeners.id, listenerId));
  return row?.abilities ?? null;
}

/** Whether a reader waits for the listener. @throws StaleEpoch */
export async function hasLogRequests(reader: Reader, listenerId: string, epoch: number): Promise<boolean> {
  const [row] = await reader.run(hasLogRequestsStatement, { listenerId });
  if (row?.leaseEpoch !== epoch) throw new StaleEpoch(epoch, row?.leaseEpoch ?? 0);
  return row.wanted;
}

/** A request that is handed to the listener. */
export type TakenLogRequest = NonNullable<(typeof takeLogRequestsStatement)['row']>;

/**
 * Hands out requests that no listener has yet. A request that needs a feature that the listener did not name keeps
 * waiting.
 */
export function takeLogRequests(
  transaction: Transaction,
  listenerId: string,
  knows: readonly string[],
): Promise<TakenLogRequest[]> {
  return transaction.run(takeLogRequestsStatement, { listenerId, knows });
}

/** Whether the request waits for a listener with a required feature, because no listener has named this feature yet. */
export async function awaitsFeature(reader: Reader, requestId: string): Promise<boolean> {
  const waiting = await reader.drizzle
    .select({ id: logRequests.id })
    .from(logRequests)
    .where(and(eq(logRequests.id, requestId), or(isNotNull(logRequests.needs), logRequests.awaitsListener)));
  return waiting.length > 0;
}

/** Approximate maximum number of buffered bytes for a reader that is slower than its pods. */
const MAX_BUFFERED_BYTES = 1024 * 1024;

/** A chunk for a reader. `body` is JSON. */
export interface StoredChunk {
  readonly seq: number;
  readonly body: string;
  /** Whether no chunk follows. */
  readonly last: boolean;
}

/** Stores a chunk for its reader. `gone`: the reader is gone. `full`: the reader is too slow. */
export async function addLogChunk(
  transaction: Transaction,
  listenerId: string,
  requestId: string,
  { seq, body, last }: StoredChunk,
): Promise<'taken' | 'full' | 'gone'> {
  const { drizzle } = transaction;
  const [request] = await drizzle
    .select({ tenantId: logRequests.tenantId })
    .from(logRequests)
    .where(and(eq(logRequests.id, requestId), eq(logRequests.listenerId, listenerId), IS_VALID))
    .for('no key update');
  if (request === undefined) return 'gone';
  const [waiting] = await drizzle
    .select({ bytes: sql<number>`coalesce(sum(octet_length(${logChunks.body})), 0)::int` })
    .from(logChunks)
    .where(eq(logChunks.requestId, requestId));
  if ((waiting?.bytes ?? 0) > MAX_BUFFERED_BYTES) return 'full';
  await drizzle
    .insert(logChunks)
    .values({ tenantId: request.tenantId, requestId, seq, body, last })
    .onConflictDoNothing({ target: [logChunks.requestId, logChunks.seq] });
  await drizzle.execute(sql`SELECT ${notify(requestId)}`);
  return 'taken';
}

/** Renews the request of a reader. */
export async function renewLogRequest(transaction: Transaction, requestId: string): Promise<void> {
  await transaction.drizzle
    .update(logRequests)
    .set({ expiresAt: EXPIRY })
    .where(and(eq(logRequests.id, requestId), sql`${logRequests.expiresAt} < now() + interval '10 seconds'`));
}

/** Renews the request and takes the stored chunks in order. `null`: the request was removed or has expired. */
export async function fetchLogChunks(
  transaction: Transaction,
  requestId: string,
): Promise<StoredChunk[] | null> {
  await renewLogRequest(transaction, requestId);
  const { drizzle } = transaction;
  const chunks = await drizzle
    .delete(logChunks)
    .where(eq(logChunks.requestId, requestId))
    .returning({ seq: logChunks.seq, body: logChunks.body, last: logChunks.last });
  if (chunks.length === 0) {
    const [request] = await drizzle
      .select({ id: logRequests.id })
      .from(logRequests)
      .where(eq(logRequests.id, requestId));
    if (request === undefined) return null;
  }
  return chunks.sort((a, b) => a.seq - b.seq);
}

const ofDeployment = (tenantId: string, deploymentId: string) =>
  and(eq(secretSets.tenantId, tenantId), eq(secretSets.deploymentId, deploymentId));

/** All stored secrets of a deployment, because pods of any revision can print their secrets. */
export function allSecrets(reader: Reader, tenantId: string, deploymentId: string): Promise<SealedSecrets[]> {
  const { createdAt: _createdAt, ...sealed } = getTableColumns(secretSets);
  return reader.drizzle.select(sealed).from(secretSets).where(ofDeployment(tenantId, deploymentId));
}

/** Ids of the stored secret sets of a deployment. The content of a set never changes. */
export async function secretIds(reader: Reader, tenantId: string, deploymentId: string): Promise<string[]> {
  const sets = await reader.drizzle
    .select({ id: secretSets.id })
    .from(secretSets)
    .where(ofDeployment(tenantId, deploymentId));
  return sets.map(({ id }) => id);
}
