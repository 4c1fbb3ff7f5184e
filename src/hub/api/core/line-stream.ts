import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Logger } from '../../../domain/core/logger.ts';
import { STREAM_END_REASONS, type StreamEnd } from '../../../domain/core/stream-end.ts';
import { FairLimiter } from '../../../domain/scheduling/fair-limiter.ts';
import { ApiError, toApiError } from './errors.ts';

/**
 * Streaming responses with one JSON object per line (application/x-ndjson). The last line is `{"end": "…", "reason": "…"}`.
 * A response without this line was interrupted. Empty lines keep the connection alive.
 */

export const NDJSON = 'application/x-ndjson';

export const streamEndSchema = z
  .object({
    end: z.string().describe('The last line: a message for people that says why the stream ends.'),
    reason: z
      .enum(STREAM_END_REASONS)
      .describe(
        'Why the stream ends. complete: everything that was requested was sent. continue: send the request again to continue. denied: the right to read was lost, so another request fails. failed: an error interrupted the stream, and another request may succeed.',
      ),
  })
  .meta({
    id: 'StreamEnd',
    description: 'The end of a stream. If a stream ends without this object, the stream was interrupted.',
  });

/** Whether a request follows a log or events, so that its response waits. */
export const isFollowing = ({ query }: FastifyRequest): boolean =>
  (query as { readonly follow?: unknown } | null)?.follow === true;

/** Time without a line after which an empty line is sent, because proxies close connections that send nothing. */
const HEARTBEAT_MS = 15_000;

/** Lines of one stream, in batches. An empty batch is a keepalive. */
export type Batches = AsyncIterable<readonly object[]>;

type WriteLine = (line: object) => string;

/** The last line of a stream that an error ended. */
export function endOfFailure({ statusCode, detail }: Pick<ApiError, 'statusCode' | 'detail'>): StreamEnd {
  const why = typeof detail === 'string' ? detail : 'The request was rejected.';
  if (statusCode === 401 || statusCode === 403) return { end: why, reason: 'denied' };
  return { end: statusCode >= 500 ? `${why} The response was interrupted.` : why, reason: 'failed' };
}

/** How a stream learns that its caller lost the right to read. */
export interface LostRights {
  readonly signal: AbortSignal;
  /** The last line of the stream. */
  readonly end: StreamEnd;
}

const whenAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

/**
 * The batches until the caller loses its rights. A batch that is pending at that time is dropped. `lost` must also end the
 * source of the batches, which this function does not await.
 */
export async function* untilLost(batches: Batches, lost: LostRights): AsyncGenerator<readonly object[]> {
  const source = batches[Symbol.asyncIterator]();
  const denied = whenAborted(lost.signal).then(() => 'denied' as const);
  try {
    for (;;) {
      const pending = source.next();
      // The result of a dropped batch does not matter.
      pending.catch(() => undefined);
      const next = await Promise.race([denied, pending]);
      if (next === 'denied' || lost.signal.aborted) {
        yield [lost.end];
        return;
      }
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    source.return?.().catch(() => undefined);
  }
}

async function* encoded(batches: Batches, writeLine: WriteLine, logger: Logger): AsyncGenerator<string> {
  // The response head is sent with the first line, so the first line is sent at once.
  let sentAt = Number.NEGATIVE_INFINITY;
  try {
    for await (const batch of batches) {
      const isDue = performance.now() - sentAt >= HEARTBEAT_MS;
      if (batch.length === 0 && !isDue) continue;
      sentAt = performance.now();
      yield batch.length === 0 ? '\n' : batch.map((line) => `${writeLine(line)}\n`).join('');
    }
  } catch (error) {
    const failure = toApiError(error);
    if (failure.statusCode >= 500) logger.warn({ err: String(error) }, 'a stream of lines was interrupted');
    yield `${writeLine(endOfFailure(failure))}\n`;
  }
}

/**
 * Sends the lines as they arrive, each serialized through the schema of the route's stream. The message of a failure becomes
 * the last line.
 */
export function sendLines(reply: FastifyReply, batches: Batches, logger: Logger): FastifyReply {
  const writeLine = reply.getSerializationFunction('200', NDJSON) as WriteLine | undefined;
  if (writeLine === undefined) throw new Error('failed to stream lines: the route has no schema for them');
  // Tells proxies not to buffer lines.
  reply.type(NDJSON).header('x-accel-buffering', 'no');
  return reply.serializer(String).send(Readable.from(encoded(batches, writeLine, logger)));
}

/** Limits the readers of one process, so that one tenant cannot exclude other tenants. */
export interface Readers {
  /** Adds a reader of the tenant. The returned function removes the reader. @throws ApiError 429 */
  enter(tenantId: string): () => void;
}

const RETRY_SECONDS = 10;

/**
 * @param most maximum number of readers of one tenant, and of all tenants
 * @param what what is read, for the error
 */
export function createReaders(
  most: { readonly tenant: number; readonly all: number },
  what = 'logs',
): Readers {
  const places = new FairLimiter({ total: most.all, perTenant: most.tenant });
  return {
    enter(tenantId) {
      if (!places.tryAcquire(tenantId)) {
        const detail = `Too many ${what} are being read at the same time. End a read, or try again later.`;
        throw new ApiError(429, detail, { retryAfterSeconds: RETRY_SECONDS });
      }
      let isHere = true;
      return () => {
        if (isHere) places.release(tenantId);
        isHere = false;
      };
    },
  };
}
