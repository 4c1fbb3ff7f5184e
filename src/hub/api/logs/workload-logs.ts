import { uuidv7 } from '../../../domain/core/id.ts';
import type { LogQuery, WorkloadLogLine } from '../../../domain/core/log-query.ts';
import type { Reader, Scope } from '../../store/core/database.ts';
import { inTurns } from '../../store/core/masking.ts';
import {
  closeLogRequest,
  fetchLogChunks,
  isStillNeeding,
  openLogRequest,
  renewLogRequest,
  type StoredChunk,
} from '../../store/listeners/log-requests.ts';
import type { ApiDeps } from '../core/deps.ts';
import { ApiError } from '../core/errors.ts';
import type { WorkHints } from '../listeners/work-hints.ts';

/** Reading logs of workloads: a request for the listener, and what it brings. */

/** Hints get lost; whoever reads looks again after so long, and thereby says that it is there. */
const LOOK_AGAIN_MS = 2000;
/** The listener has so long to begin, and then to say something again, be it that there is nothing. */
const BEGIN_MS = 15_000;
const SILENCE_MS = 30_000;
/** A reader whose client takes nothing for a while is there still: said this often. */
const RENEW_MS = 4000;
const RETRY_SECONDS = 10;

const LATE = 'The listener of the cluster did not begin to read the logs in time. Try again.';
const SILENT = 'The listener of the cluster says nothing any more';
const GAVE_WAY =
  'The reading was ended: too many logs of this cluster are being read at once and others read fewer, or the hub was away for a moment: ask again.';
const UNKNOWN_PREVIOUS =
  'The listener of the cluster did not say in time that it can read what runs before the present ones printed: it is of an older version, or does not answer, or the hub is being updated. Try again.';
const FULL = 'Too many logs of this cluster are being read at once. End one, or try again later.';

/** What one chunk brings. */
export interface LogBatch {
  readonly lines: readonly WorkloadLogLine[];
  /** Nothing comes after it: why. */
  readonly end?: string;
}

/** The body of a chunk, as it is kept on its way. */
export const chunkBody = (batch: LogBatch): string => JSON.stringify(batch);

/** What texts are told as at present. */
export type MaskNow = (reader: Reader) => Promise<(text: string) => string>;

export interface LogReader {
  readonly deps: Pick<ApiDeps, 'database'>;
  readonly hints: WorkHints;
  readonly tenantId: string;
  readonly deploymentId: string;
  readonly listenerId: string;
  /** Readers of one listener: of one tenant, and of all. */
  readonly most: { readonly tenant: number; readonly all: number };
  /** X-Request-Id of the request. */
  readonly httpRequestId: string;
  /** Asked for whenever lines have come: what is secret may change while they are read. */
  readonly maskNow: MaskNow;
  /** The listener is held no longer than so many milliseconds, however slowly the lines are taken. */
  readonly longestMs: number;
  /** Fires: nobody reads any more. */
  readonly signal: AbortSignal;
}

/**
 * What the listener reads, as it comes; batches without lines are signs of life. The request ends with the reading.
 * @throws ApiError 409 no listener says that it can, 429 too many readers, 504 the listener does not begin, or falls silent
 */
export async function* readWorkloadLogs(reader: LogReader, query: LogQuery): AsyncGenerator<LogBatch> {
  const { deps, tenantId, deploymentId, listenerId, httpRequestId, most } = reader;
  if (reader.signal.aborted) return;
  const id = uuidv7();
  const request = { id, tenantId, deploymentId, listenerId, query, httpRequestId };
  const isOpen = await deps.database.platform.transaction((transaction) =>
    openLogRequest(transaction, request, most),
  );
  if (!isOpen) throw new ApiError(429, FULL, { retryAfterSeconds: RETRY_SECONDS });
  const scope = deps.database.forTenant(tenantId);
  const renewing = renewed(reader, scope, id);
  try {
    yield* fetchAll(reader, scope, id);
  } finally {
    clearInterval(renewing);
    // Where the database is away, the request runs out by itself.
    await scope.transaction((transaction) => closeLogRequest(transaction, id)).catch(() => undefined);
  }
}

/** Renews the request also while whoever takes its lines pauses: a terminal that is held, a pager. */
function renewed({ signal, longestMs }: LogReader, scope: Scope, id: string): NodeJS.Timeout {
  const until = performance.now() + longestMs;
  const timer = setInterval(() => {
    if (signal.aborted || performance.now() > until) return clearInterval(timer);
    // Where the database is away, the next time does.
    scope.transaction((transaction) => renewLogRequest(transaction, id)).catch(() => undefined);
  }, RENEW_MS);
  return timer;
}

/** What has come, as it may be told. `null`: the request is not there any more. */
async function fetchBatches({ maskNow }: LogReader, scope: Scope, id: string) {
  return scope.transaction(async (transaction) => {
    const chunks = await fetchLogChunks(transaction, id);
    if (chunks === null) return null;
    if (chunks.length === 0) return [];
    // Behind the lines: what was printed of a new secret finds it here.
    const mask = await maskNow(transaction);
    const told = [];
    for (const chunk of chunks) told.push({ ...chunk, batch: await batchOf(chunk, mask) });
    return told;
  });
}

/** @throws ApiError 409, 504 */
async function refuseSilence(scope: Scope, id: string, ms: number, hasBegun: boolean): Promise<void> {
  const ofCluster = true;
  if (!hasBegun && ms > BEGIN_MS) {
    const isUnknown = await scope.read((reader) => isStillNeeding(reader, id));
    if (isUnknown) throw new ApiError(409, UNKNOWN_PREVIOUS);
    throw new ApiError(504, LATE, { retryAfterSeconds: RETRY_SECONDS, ofCluster });
  }
  if (ms > SILENCE_MS) throw new ApiError(504, `${SILENT}: ask again.`, { ofCluster });
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
      yield { lines: [], end: GAVE_WAY };
      return;
    }
    for (const { batch, ...chunk } of chunks) {
      // Sent again after it had been fetched.
      if (chunk.seq <= seq) continue;
      seq = chunk.seq;
      yield batch;
      // After it: how long the reader took over it is not the listener's silence.
      heardAt = performance.now();
      if (chunk.last) return;
    }
    await refuseSilence(scope, id, performance.now() - heardAt, seq > 0);
    if (seq > 0) yield { lines: [] };
    await hints.wait(id, ticket, LOOK_AGAIN_MS, signal);
  }
}

async function batchOf({ body }: StoredChunk, mask: (text: string) => string): Promise<LogBatch> {
  const batch = JSON.parse(body) as LogBatch;
  return { ...batch, lines: await inTurns(batch.lines, (line) => ({ ...line, text: mask(line.text) })) };
}
