import { type LogQuery, neededFor } from '../../../domain/core/log-query.ts';
import { LOG_CHANNEL } from '../builds/build-logs.ts';
import type { Reader, Transaction } from '../core/database.ts';
import type { SealedSecrets } from '../core/records.ts';
import { StaleEpoch } from './listener-lease.ts';

/**
 * Transfers workload logs from a listener to a reader, which may be connected to another replica of the API. Stores the
 * readers, and the chunks that were not read yet. The chunks are removed with the reader.
 */

/** A request to read logs. */
export interface NewLogRequest {
  /** UUID v7. */
  readonly id: string;
  readonly tenantId: string;
  readonly deploymentId: string;
  readonly listenerId: string;
  readonly query: LogQuery;
  /** X-Request-Id of the reader's request. */
  readonly httpRequestId: string;
}

/** Time without a renewal after which a reader is gone, for example because its process was killed. */
const EXPIRY = "interval '15 seconds'";
const RENEWED_BELOW = "interval '10 seconds'";

const TIDY = 'DELETE FROM log_requests WHERE expires_at < now()';
/** A lock that serializes count and insert for each listener. */
const LOCK = 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))';
const COUNT = `
SELECT tenant_id, count(*)::int AS readers FROM log_requests WHERE listener_id = $1 AND expires_at > now()
GROUP BY tenant_id ORDER BY readers DESC, tenant_id`;
/** Selects the newest request of the tenant. Followers are removed before other readers, which finish in a moment. */
const GIVE_WAY = `
DELETE FROM log_requests WHERE id = (
  SELECT id FROM log_requests WHERE listener_id = $1 AND tenant_id = $2 AND expires_at > now()
  ORDER BY (query ->> 'follow')::boolean DESC, id DESC LIMIT 1)
RETURNING pg_notify('${LOG_CHANNEL}', id::text)`;
const INSERT = `
INSERT INTO log_requests (id, tenant_id, deployment_id, listener_id, query, needs, taken, http_request_id, expires_at)
VALUES ($1, $2, $3, $4, $5::jsonb, $6, $6::text IS NOT NULL, $7, now() + ${EXPIRY})
RETURNING pg_notify('${LOG_CHANNEL}', listener_id::text)`;

/**
 * Adds a reader and wakes the listener. If all places are taken, the tenant with the most readers loses a place to a
 * tenant that has fewer readers, including the new reader. Therefore no tenant can exclude other tenants. Platform
 * scope, because all readers of a listener count.
 * @param most maximum number of readers of one listener, per tenant and of all tenants
 * @returns whether a place was available
 */
export async function openLogRequest(
  transaction: Transaction,
  { id, tenantId, deploymentId, listenerId, query, httpRequestId }: NewLogRequest,
  most: { readonly tenant: number; readonly all: number },
): Promise<boolean> {
  await transaction.query(LOCK, [`log requests of ${listenerId}`]);
  await transaction.query(TIDY);
  const counts = await transaction.query<{ tenant_id: string; readers: number }>(COUNT, [listenerId]);
  const own = counts.find((count) => count.tenant_id === tenantId)?.readers ?? 0;
  if (own >= most.tenant) return false;
  if (counts.reduce((sum, { readers }) => sum + readers, 0) >= most.all) {
    const [first] = counts;
    if (first === undefined || first.readers <= own + 1) return false;
    await transaction.query(GIVE_WAY, [listenerId, first.tenant_id]);
  }
  const values = [id, tenantId, deploymentId, listenerId, JSON.stringify(query), neededFor(query)];
  await transaction.query(INSERT, [...values, httpRequestId]);
  return true;
}

/** Removes a reader that has disconnected. */
export async function closeLogRequest(transaction: Transaction, id: string): Promise<void> {
  await transaction.query('DELETE FROM log_requests WHERE id = $1', [id]);
}

const HAS_REQUESTS = `
SELECT l.lease_epoch, EXISTS (SELECT 1 FROM log_requests r
  WHERE r.listener_id = l.id AND (NOT r.taken OR r.needs IS NOT NULL) AND r.expires_at > now()) AS wanted
FROM listeners l WHERE l.id = $1`;

/** Whether a reader waits for the listener. @throws StaleEpoch */
export async function hasLogRequests(reader: Reader, listenerId: string, epoch: number): Promise<boolean> {
  const [row] = await reader.query<{ lease_epoch: number; wanted: boolean }>(HAS_REQUESTS, [listenerId]);
  if (row?.lease_epoch !== epoch) throw new StaleEpoch(epoch, row?.lease_epoch ?? 0);
  return row.wanted;
}

/** A request in the form that the listener gets. */
export interface TakenLogRequest {
  readonly id: string;
  readonly deployment_id: string;
  readonly namespace: string;
  readonly query: LogQuery;
  readonly http_request_id: string | null;
}

const TAKE = `
WITH wanted AS (
  SELECT id FROM log_requests
  WHERE listener_id = $1 AND (NOT taken OR needs = ANY($2)) AND expires_at > now() ORDER BY id LIMIT 20
  FOR UPDATE SKIP LOCKED
), taken AS (
  UPDATE log_requests r SET taken = true, needs = NULL FROM wanted WHERE r.id = wanted.id
  RETURNING r.id, r.deployment_id, r.query, r.http_request_id
)
SELECT taken.id, taken.deployment_id, d.namespace, taken.query, taken.http_request_id
FROM taken JOIN deployments d ON d.id = taken.deployment_id`;

/**
 * Hands out requests that no listener has yet. A request that needs a feature that the listener did not name keeps
 * waiting.
 */
export function takeLogRequests(
  transaction: Transaction,
  listenerId: string,
  knows: readonly string[],
): Promise<TakenLogRequest[]> {
  return transaction.query<TakenLogRequest>(TAKE, [listenerId, knows]);
}

const STILL_NEEDS = 'SELECT 1 FROM log_requests WHERE id = $1 AND needs IS NOT NULL';

/** Whether the request waits for a listener with a required feature, because no listener has named this feature yet. */
export async function awaitsFeature(reader: Reader, requestId: string): Promise<boolean> {
  return (await reader.query(STILL_NEEDS, [requestId])).length > 0;
}

/** Approximate maximum number of buffered bytes for a reader that is slower than its pods. */
const MAX_BUFFERED_BYTES = 1024 * 1024;

const READ_BY = `
SELECT tenant_id FROM log_requests WHERE id = $1 AND listener_id = $2 AND expires_at > now() FOR NO KEY UPDATE`;
const WAITING =
  'SELECT coalesce(sum(octet_length(body)), 0)::int AS bytes FROM log_chunks WHERE request_id = $1';
const ADD = `
INSERT INTO log_chunks (tenant_id, request_id, seq, body, last) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (request_id, seq) DO NOTHING`;
const NOTIFY = `SELECT pg_notify('${LOG_CHANNEL}', $1)`;

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
  const [request] = await transaction.query<{ tenant_id: string }>(READ_BY, [requestId, listenerId]);
  if (request === undefined) return 'gone';
  const [waiting] = await transaction.query<{ bytes: number }>(WAITING, [requestId]);
  if ((waiting?.bytes ?? 0) > MAX_BUFFERED_BYTES) return 'full';
  await transaction.query(ADD, [request.tenant_id, requestId, seq, body, last]);
  await transaction.query(NOTIFY, [requestId]);
  return 'taken';
}

const RENEW = `
UPDATE log_requests SET expires_at = now() + ${EXPIRY} WHERE id = $1 AND expires_at < now() + ${RENEWED_BELOW}`;
const FETCH = 'DELETE FROM log_chunks WHERE request_id = $1 RETURNING seq, body, last';
const IS_THERE = 'SELECT 1 FROM log_requests WHERE id = $1';

/** Renews the request of a reader. */
export async function renewLogRequest(transaction: Transaction, requestId: string): Promise<void> {
  await transaction.query(RENEW, [requestId]);
}

/** Renews the request and takes the stored chunks in order. `null`: the request was removed or has expired. */
export async function fetchLogChunks(
  transaction: Transaction,
  requestId: string,
): Promise<StoredChunk[] | null> {
  await renewLogRequest(transaction, requestId);
  const chunks = await transaction.query<StoredChunk>(FETCH, [requestId]);
  if (chunks.length === 0 && (await transaction.query(IS_THERE, [requestId])).length === 0) return null;
  return chunks.sort((a, b) => a.seq - b.seq);
}

const SECRETS = `
SELECT DISTINCT s.id, s.tenant_id AS "tenantId", s.deployment_id AS "deploymentId", s.key_id AS "keyId", s.sealed
FROM secret_sets s WHERE s.tenant_id = $1 AND s.deployment_id = $2`;

/** All stored secrets of a deployment, because pods of any revision can print their secrets. */
export function allSecrets(reader: Reader, tenantId: string, deploymentId: string): Promise<SealedSecrets[]> {
  return reader.query<SealedSecrets>(SECRETS, [tenantId, deploymentId]);
}

const SECRET_IDS = 'SELECT s.id FROM secret_sets s WHERE s.tenant_id = $1 AND s.deployment_id = $2';

/** Ids of the stored secret sets of a deployment. The content of a set never changes. */
export async function secretIds(reader: Reader, tenantId: string, deploymentId: string): Promise<string[]> {
  return (await reader.query<{ id: string }>(SECRET_IDS, [tenantId, deploymentId])).map(({ id }) => id);
}
