import type { ObjectAnswer, ObjectRequest } from '../../../contract/protocol/object-protocol.ts';
import type { Logger } from '../../../domain/core/logger.ts';
import { type Clock, sleep } from '../../kube/client/clock.ts';
import { fieldsOfRead, READER_GONE } from '../logs/log-delivery.ts';
import type { ReaderClient, ReaderLimits } from '../logs/reader-limits.ts';
import { type HubClient, HubError } from '../session/hub-client.ts';
import type { Term } from '../session/term.ts';
import { readObjects } from './read-objects.ts';

/** Serves one request of a reader of objects. */

export interface ObjectRequestOptions {
  readonly client: ReaderClient;
  readonly limits: ReaderLimits;
  readonly hub: Pick<HubClient, 'sendObjects'>;
  readonly term: Term;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Fires to stop the read. */
  readonly signal: AbortSignal;
}

/** Time for all lists of a request, including the wait for their turns. The hub waits for 20 s. */
const READ_MS = 15_000;
const MAX_TRIES = 3;
const RETRY_MS = 1000;

/** Log fields of a read. */
const namesOf = (request: ObjectRequest) => ({
  ...fieldsOfRead(request),
  objectRequestId: request.request_id,
});

/** Sends an answer until the hub has it, the reader is gone, or the signal fires. @throws HubError after MAX_TRIES */
async function send(
  { hub, term, clock, signal }: ObjectRequestOptions,
  requestId: string,
  answer: Result,
): Promise<void> {
  for (let tries = 1; !signal.aborted; tries += 1) {
    try {
      await hub.sendObjects(requestId, { epoch: term.epoch, ...answer }, { signal });
      return;
    } catch (error) {
      if (!(error instanceof HubError)) throw error;
      if (error.status === READER_GONE) return;
      if (error.kind === 'conflict') term.end(error.message);
      if (!error.retryable || tries >= MAX_TRIES) throw error;
      await sleep(clock, error.retryAfterMs ?? RETRY_MS, signal);
    }
  }
}

type Result = Omit<ObjectAnswer, 'epoch'>;

/** Reads until the time is over, and then returns what was read. `busy`: too many requests are being served. */
async function read(
  { client, limits, clock, signal }: ObjectRequestOptions,
  request: ObjectRequest,
): Promise<Result> {
  const leave = limits.enter('objects', request);
  if (leave === null) return { failure: 'busy' };
  const late = new AbortController();
  const cancel = clock.after(READ_MS, () => late.abort());
  try {
    return await readObjects({
      client: limits.client(client, request),
      request,
      signal: AbortSignal.any([signal, late.signal]),
    });
  } finally {
    cancel();
    leave();
  }
}

/** Reads the objects and sends them. Never rejects. */
export async function serveObjectRequest(
  options: ObjectRequestOptions,
  request: ObjectRequest,
): Promise<void> {
  const { logger, signal } = options;
  try {
    await send(options, request.request_id, await read(options, request));
  } catch (error) {
    if (signal.aborted) return;
    logger.warn({ ...namesOf(request), err: String(error) }, 'failed to send objects to a reader');
  }
}
