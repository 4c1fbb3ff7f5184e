import type { ObjectAnswer } from '../../../contract/protocol/object-protocol.ts';
import type { ObjectQuery } from '../../../domain/core/object-map.ts';
import type { Scope } from '../../store/core/database.ts';
import { awaitsFeature, fetchLogChunks } from '../../store/listeners/log-requests.ts';
import type { ApiDeps } from '../core/deps.ts';
import { ApiError } from '../core/errors.ts';
import type { WorkHints } from '../listeners/work-hints.ts';
import { openRead, type ReadPlace } from '../logs/open-read.ts';

/** Reads objects of a deployment: stores a request for the listener, and waits for its answer. */

/** Time after which a reader queries again, because notifications can be lost. The query also renews the request. */
const REQUERY_MS = 2000;
/** Time within which the listener must answer. Its lists take at most 15 s. */
const ANSWER_MS = 20_000;
const RETRY_SECONDS = 10;
/** A read takes less than a second, so a place is free soon. */
const FULL_RETRY_SECONDS = 2;

export const OUTDATED_LISTENER =
  'The listener of the cluster has an older version, which cannot read objects. Upgrade the listener to the version of the hub.';
const NOT_STARTED =
  'The listener of the cluster did not start to read the objects within the time limit. If it has an older version than the hub, upgrade it. Otherwise try again.';
const LATE = 'The listener of the cluster did not send the objects within the time limit. Try again.';
const FULL = 'Too many objects of this cluster are being read at the same time. Try again later.';

/** Too many reads of objects, of this hub or of the listener. */
export const full = () => new ApiError(429, FULL, { retryAfterSeconds: FULL_RETRY_SECONDS });

/** What a listener sends. */
export type ObjectsRead = Omit<ObjectAnswer, 'epoch'>;

/** What a listener sent, and its size as JSON. */
export interface SizedRead {
  readonly read: ObjectsRead;
  readonly characters: number;
}

export interface ObjectReading extends ReadPlace {
  readonly deps: Pick<ApiDeps, 'database' | 'objectAnswerMs'>;
  readonly hints: WorkHints;
  /** Aborts when the server shuts down. */
  readonly signal: AbortSignal;
}

/** @throws ApiError 429 too many readers, 503 the server shuts down, 504 the listener does not answer */
export async function readObjects(reading: ObjectReading, query: ObjectQuery): Promise<SizedRead> {
  const { id, scope, close } = await openRead(reading, { kind: 'objects', query }, full);
  try {
    return await answerTo(reading, scope, id);
  } finally {
    await close();
  }
}

async function answerTo(
  { deps: { objectAnswerMs = ANSWER_MS }, hints, signal }: ObjectReading,
  scope: Scope,
  id: string,
): Promise<SizedRead> {
  const until = performance.now() + objectAnswerMs;
  while (!signal.aborted) {
    const ticket = hints.ticket(id);
    const chunks = await scope.transaction((transaction) => fetchLogChunks(transaction, id));
    if (chunks === null) throw full();
    const [chunk] = chunks;
    if (chunk !== undefined)
      return { read: JSON.parse(chunk.body) as ObjectsRead, characters: chunk.body.length };
    if (performance.now() > until) {
      const isWaiting = await scope.read((reader) => awaitsFeature(reader, id));
      const detail = isWaiting ? NOT_STARTED : LATE;
      throw new ApiError(504, detail, { retryAfterSeconds: RETRY_SECONDS, ofCluster: true });
    }
    await hints.wait(id, ticket, Math.min(REQUERY_MS, objectAnswerMs), signal);
  }
  throw new ApiError(503, 'The API shuts down. Send the request again.', { retryAfterSeconds: 1 });
}
