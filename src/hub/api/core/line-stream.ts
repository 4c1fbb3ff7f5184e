import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { Logger } from '../../../domain/core/logger.ts';
import { ApiError, toApiError } from './errors.ts';

/**
 * Answers that go on: one JSON object a line (application/x-ndjson). The last line of each is `{"end": "…"}`: an answer
 * without it broke off. Empty lines keep the connection alive.
 */

export const NDJSON = 'application/x-ndjson';

export const streamEndSchema = z
  .object({ end: z.string().describe('The last line: a message that says why the log ends.') })
  .describe('The end of a stream. A stream without it was interrupted.');

/** Silence after which an empty line is sent: what stands between would cut a connection that says nothing. */
const HEARTBEAT_MS = 15_000;

/** Lines of one stream, in batches; an empty batch is a sign of life, sent now and then. */
export type Batches = AsyncIterable<readonly object[]>;

async function* encoded(batches: Batches, logger: Logger): AsyncGenerator<string> {
  // The head of the answer goes with the first line, so that is sent at once.
  let toldAt = Number.NEGATIVE_INFINITY;
  try {
    for await (const batch of batches) {
      const isDue = performance.now() - toldAt >= HEARTBEAT_MS;
      if (batch.length === 0 && !isDue) continue;
      toldAt = performance.now();
      yield batch.length === 0 ? '\n' : batch.map((line) => `${JSON.stringify(line)}\n`).join('');
    }
  } catch (error) {
    const { statusCode, detail } = toApiError(error);
    if (statusCode >= 500) logger.warn({ err: String(error) }, 'a stream of lines broke off');
    const why = typeof detail === 'string' ? detail : 'The request is refused.';
    // Clients know by these words that there is more.
    const isBroken = statusCode >= 500 && !why.includes('ask again');
    yield `${JSON.stringify({ end: isBroken ? `${why} The answer broke off: ask again.` : why })}\n`;
  }
}

/** Answers with the lines as they come. A failure becomes the sentence of the last line. */
export function sendLines(reply: FastifyReply, batches: Batches, logger: Logger): FastifyReply {
  // Proxies would keep lines back to send them together.
  reply.type(NDJSON).header('x-accel-buffering', 'no');
  return reply.serializer(String).send(Readable.from(encoded(batches, logger)));
}

/** Readers of one process, so that none keeps out the others. */
export interface Readers {
  /** One more reader for the tenant; the function says that it has gone. @throws ApiError 429 */
  enter(tenantId: string): () => void;
}

const RETRY_SECONDS = 10;

/** @param most readers of one tenant, and of all together */
export function createReaders(most: { readonly tenant: number; readonly all: number }): Readers {
  const present = new Map<string, number>();
  let all = 0;
  return {
    enter(tenantId) {
      const count = present.get(tenantId) ?? 0;
      if (count >= most.tenant || all >= most.all) {
        const detail = 'Too many logs are being read at once. End one, or try again later.';
        throw new ApiError(429, detail, { retryAfterSeconds: RETRY_SECONDS });
      }
      all += 1;
      present.set(tenantId, count + 1);
      let isHere = true;
      return () => {
        if (!isHere) return;
        isHere = false;
        all -= 1;
        const left = (present.get(tenantId) ?? 1) - 1;
        if (left > 0) present.set(tenantId, left);
        else present.delete(tenantId);
      };
    },
  };
}
