import type { LogQuery, WorkloadLogLine } from '../../../domain/core/log-query.ts';
import type { StreamEndReason } from '../../../domain/core/stream-end.ts';
import type { Reader, Scope } from '../../store/core/database.ts';
import { inTurns } from '../../store/core/masking.ts';
import {
  awaitsFeature,
  fetchLogChunks,
  renewLogRequest,
  type StoredChunk,
} from '../../store/listeners/log-requests.ts';
import { ApiError } from '../core/errors.ts';
import type { WorkHints } from '../listeners/work-hints.ts';
import { openRead, type ReadPlace } from './open-read.ts';

/** Reads logs of workloads: stores a request for the listener and returns the chunks that it sends. */

/** Time after which a reader queries again, because notifications can be lost. The query also renews the request. */
const REQUERY_MS = 2000;
/** Time within which the listener must begin, and then send the next chunk, which can be empty. */
const BEGIN_MS = 15_000;
const SILENCE_MS = 30_000;
/** Interval at which a request is renewed while its client does not read. */
const RENEW_MS = 4000;
const RETRY_SECONDS = 10;

const LATE = 'The listener of the cluster did not start to read the logs within the time limit. Try again.';
const SILENT = 'The listener of the cluster no longer responds.';
const GAVE_WAY =
  'The read was ended, because too many logs of this cluster are being read at the same time and other tenants read ' +
  'fewer, or because the hub was not available for a moment. Send the request again.';
const UNKNOWN_PREVIOUS =
  'The listener of the cluster did not confirm that it supports logs of previous containers: it has an older version or does not respond, or the hub is being updated. Try again.';
const FULL = 'Too many logs of this cluster are being read at the same time. End a read, or try again later.';

/** The content of one chunk. */
export interface LogBatch {
  readonly lines: readonly WorkloadLogLine[];
  /** The reason of the end, if no chunk follows. */
  readonly end?: string;
  /** Absent without `end`, and from a listener of the previous version. */
  readonly reason?: StreamEndReason;
}

/** The stored form of a chunk. */
export const chunkBody = (batch: LogBatch): string => JSON.stringify(batch);

/** The masking function for the current secrets. */
export type MaskNow = (reader: Reader) => Promise<(text: string) => string>;

export interface LogReader extends ReadPlace {
  readonly hints: WorkHints;
  /** Called for each set of new lines, because secrets can change during a read. */
  readonly maskNow: MaskNow;
  /** Maximum time for which the listener is occupied, in milliseconds, independent of how slowly the client reads. */
  readonly longestMs: number;
  /** Aborts when the client has disconnected. */
  readonly signal: AbortSignal;
}

/**
 * Yields the lines that the listener reads. Batches without lines are keepalives. The stored request is removed at the
 * end.
 * @throws ApiError 409 no listener reported support, 429 too many readers, 504 the listener does not begin or stops
 *   sending
 */
export async function* readWorkloadLogs(reader: LogReader, query: LogQuery): AsyncGenerator<LogBatch> {
  if (reader.signal.aborted) return;
  const full = () => new ApiError(429, FULL, { retryAfterSeconds: RETRY_SECONDS });
  const { id, scope, close } = await openRead(reader, { kind: 'logs', query }, full);
  const renewing = renewed(reader, scope, id);
  try {
    yield* fetchAll(reader, scope, id);
  } finally {
    clearInterval(renewing);
    await close();
  }
}

/** Renews the request while the client pauses, for example in a pager. */
function renewed({ signal, longestMs }: LogReader, scope: Scope, id: string): NodeJS.Timeout {
  const until = performance.now() + longestMs;
  const timer = setInterval(() => {
    if (signal.aborted || performance.now() > until) return clearInterval(timer);
    // An error is ignored, because a later renewal succeeds when the database is available again.
    scope.transaction((transaction) => renewLogRequest(transaction, id)).catch(() => undefined);
  }, RENEW_MS);
  return timer;
}

/** The chunks that have arrived, masked. null: the request no longer exists. */
async function fetchBatches({ maskNow }: LogReader, scope: Scope, id: string) {
  return scope.transaction(async (transaction) => {
    const chunks = await fetchLogChunks(transaction, id);
    if (chunks === null) return null;
    if (chunks.length === 0) return [];
    // The secrets are read after the lines, so that a new secret in the lines is masked.
    const mask = await maskNow(transaction);
    const masked = [];
    for (const chunk of chunks) masked.push({ ...chunk, batch: await batchOf(chunk, mask) });
    return masked;
  });
}

/** @throws ApiError 409, 504 */
async function failWhenSilent(scope: Scope, id: string, ms: number, hasBegun: boolean): Promise<void> {
  const ofCluster = true;
  if (!hasBegun && ms > BEGIN_MS) {
    const isUnknown = await scope.read((reader) => awaitsFeature(reader, id));
    if (isUnknown) throw new ApiError(409, UNKNOWN_PREVIOUS);
    throw new ApiError(504, LATE, { retryAfterSeconds: RETRY_SECONDS, ofCluster });
  }
  if (ms > SILENCE_MS) throw new ApiError(504, SILENT, { ofCluster });
}

async function* fetchAll(reader: LogReader, scope: Scope, id: string): AsyncGenerator<LogBatch> {
  const { hints, signal } = reader;
  let seq = 0;
  let heardAt = performance.now();
  while (!signal.aborted) {
    const ticket = hints.ticket(id);
    const chunks = await fetchBatches(reader, scope, id);
    if (chunks === null) {
      if (seq === 0) throw new ApiError(429, FULL, { retryAfterSeconds: RETRY_SECONDS });
      yield { lines: [], end: GAVE_WAY, reason: 'continue' };
      return;
    }
    for (const { batch, ...chunk } of chunks) {
      // The chunk was already read, and was sent again.
      if (chunk.seq <= seq) continue;
      seq = chunk.seq;
      yield batch;
      // The time is reset after the chunk is consumed, because the time that the reader needs does not count as silence
      // of the listener.
      heardAt = performance.now();
      if (chunk.last) return;
    }
    await failWhenSilent(scope, id, performance.now() - heardAt, seq > 0);
    if (seq > 0) yield { lines: [] };
    await hints.wait(id, ticket, REQUERY_MS, signal);
  }
}

async function batchOf({ body }: StoredChunk, mask: (text: string) => string): Promise<LogBatch> {
  const batch = JSON.parse(body) as LogBatch;
  return { ...batch, lines: await inTurns(batch.lines, (line) => ({ ...line, text: mask(line.text) })) };
}
