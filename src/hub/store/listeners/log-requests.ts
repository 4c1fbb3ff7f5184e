import { type LogQuery, neededFor } from '../../../domain/core/log-query.ts';
import { LOG_CHANNEL } from '../builds/build-logs.ts';
import type { Reader, Transaction } from '../core/database.ts';
import type { SealedSecrets } from '../core/records.ts';
import { StaleEpoch } from './listener-lease.ts';

/**
 * Logs of workloads on their way from a listener to a reader, who may be at another replica of the API: who reads, and
 * chunks that were not read yet. Gone with the reader.
 */

/** A request to read. */
export interface NewLogRequest {
  /** UUID v7. */
  readonly id: string;
  readonly tenantId: string;
  readonly deploymentId: string;
  readonly listenerId: string;
  readonly query: LogQuery;
  /** X-Request-Id of whoever reads. */
  readonly httpRequestId: string;
}

/** A reader that has not been heard of for so long has gone: its process may have been killed. */
const EXPIRY = "interval '15 seconds'";
const RENEWED_BELOW = "interval '10 seconds'";

const TIDY = 'DELETE FROM log_requests WHERE expires_at < now()';
/** Counting and inserting are one step for each listener. */
const LOCK = 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))';
const COUNT = `
SELECT tenant_id, count(*)::int AS readers FROM log_requests WHERE listener_id = $1 AND expires_at > now()
GROUP BY tenant_id ORDER BY readers DESC, tenant_id`;
/** Its newest; whoever follows before whoever is through in a moment. */
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
 * Enters a reader and wakes the listener. Where there is no room left, the tenant with the most readers gives way to one
 * that has, with this one, fewer: no tenant, and no few of them, keep the others out. Platform scope: all readers of a
 * listener are counted.
 * @param most readers of one listener: of one tenant, and of all
 * @returns whether there was room
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

/** The reader has gone. */
export async function closeLogRequest(transaction: Transaction, id: string): Promise<void> {
  await transaction.query('DELETE FROM log_requests WHERE id = $1', [id]);
}

const LOOK = `
SELECT l.lease_epoch, EXISTS (SELECT 1 FROM log_requests r
  WHERE r.listener_id = l.id AND (NOT r.taken OR r.needs IS NOT NULL) AND r.expires_at > now()) AS wanted
FROM listeners l WHERE l.id = $1`;

/** Whether somebody waits to be read for. @throws StaleEpoch */
export async function areLogsWanted(reader: Reader, listenerId: string, epoch: number): Promise<boolean> {
  const [row] = await reader.query<{ lease_epoch: number; wanted: boolean }>(LOOK, [listenerId]);
  if (row?.lease_epoch !== epoch) throw new StaleEpoch(epoch, row?.lease_epoch ?? 0);
  return row.wanted;
}

/** A request as the listener gets it. */
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

/** Hands out what nobody has yet, but for what needs more than the listener says that it knows: that waits. */
export function takeLogRequests(
  transaction: Transaction,
  listenerId: string,
  knows: readonly string[],
): Promise<TakenLogRequest[]> {
  return transaction.query<TakenLogRequest>(TAKE, [listenerId, knows]);
}

const STILL_NEEDS = 'SELECT 1 FROM log_requests WHERE id = $1 AND needs IS NOT NULL';

/** Whether the request waits for a listener that knows what it needs: none has said so yet. */
export async function isStillNeeding(reader: Reader, requestId: string): Promise<boolean> {
  return (await reader.query(STILL_NEEDS, [requestId])).length > 0;
}

/** A reader that is slower than its pods holds so much here, in bytes, about. */
const MOST_WAITING = 1024 * 1024;

const READ_BY = `
SELECT tenant_id FROM log_requests WHERE id = $1 AND listener_id = $2 AND expires_at > now() FOR NO KEY UPDATE`;
const WAITING =
  'SELECT coalesce(sum(octet_length(body)), 0)::int AS bytes FROM log_chunks WHERE request_id = $1';
const ADD = `
INSERT INTO log_chunks (tenant_id, request_id, seq, body, last) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (request_id, seq) DO NOTHING`;
const NOTIFY = `SELECT pg_notify('${LOG_CHANNEL}', $1)`;

/** A chunk for a reader; `body` is JSON. */
export interface StoredChunk {
  readonly seq: number;
  readonly body: string;
  /** Nothing comes after it. */
  readonly last: boolean;
}

/** Keeps a chunk for its reader. `gone`: there is none. `full`: it is behind. */
export async function addLogChunk(
  transaction: Transaction,
  listenerId: string,
  requestId: string,
  { seq, body, last }: StoredChunk,
): Promise<'taken' | 'full' | 'gone'> {
  const [request] = await transaction.query<{ tenant_id: string }>(READ_BY, [requestId, listenerId]);
  if (request === undefined) return 'gone';
  const [waiting] = await transaction.query<{ bytes: number }>(WAITING, [requestId]);
  if ((waiting?.bytes ?? 0) > MOST_WAITING) return 'full';
  await transaction.query(ADD, [request.tenant_id, requestId, seq, body, last]);
  await transaction.query(NOTIFY, [requestId]);
  return 'taken';
}

const RENEW = `
UPDATE log_requests SET expires_at = now() + ${EXPIRY} WHERE id = $1 AND expires_at < now() + ${RENEWED_BELOW}`;
const FETCH = 'DELETE FROM log_chunks WHERE request_id = $1 RETURNING seq, body, last';
const IS_THERE = 'SELECT 1 FROM log_requests WHERE id = $1';

/** The reader is there. */
export async function renewLogRequest(transaction: Transaction, requestId: string): Promise<void> {
  await transaction.query(RENEW, [requestId]);
}

/** The reader is there, and takes what has come; in order. `null`: it gave way, or was given up. */
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

/** All secrets of a deployment that are kept: pods of any revision may print theirs. */
export function allSecrets(reader: Reader, tenantId: string, deploymentId: string): Promise<SealedSecrets[]> {
  return reader.query<SealedSecrets>(SECRETS, [tenantId, deploymentId]);
}

const SECRET_IDS = 'SELECT s.id FROM secret_sets s WHERE s.tenant_id = $1 AND s.deployment_id = $2';

/** Which sets of secrets of a deployment are kept. What a set holds never changes. */
export async function secretIds(reader: Reader, tenantId: string, deploymentId: string): Promise<string[]> {
  return (await reader.query<{ id: string }>(SECRET_IDS, [tenantId, deploymentId])).map(({ id }) => id);
}
