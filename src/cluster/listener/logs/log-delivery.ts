import type { LogChunk, LogRequest } from '../../../contract/protocol/log-protocol.ts';
import type { Logger } from '../../../domain/core/logger.ts';
import type { StreamEnd } from '../../../domain/core/stream-end.ts';
import { type Clock, sleep } from '../../kube/client/clock.ts';
import { type HubClient, HubError } from '../session/hub-client.ts';
import type { Term } from '../session/term.ts';

/** Sends log lines to the hub, for one reader. */

export interface DeliveryOptions {
  readonly hub: Pick<HubClient, 'logChunk'>;
  readonly term: Term;
  readonly request: LogRequest;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** Pause before a chunk is sent again to a slow reader. The pause grows while the reader does not read. */
const FULL_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 2500;
/** Time without a response of the hub after which the reader is considered gone. */
const GIVE_UP_MS = 30_000;
const RETRY_MS = 1000;
/** HTTP status of the hub when the reader is gone. */
export const READER_GONE = 404;

type Chunk = Omit<LogChunk, 'epoch'>;

/** Log fields of any read, with the request id of the API (docs/observability.md). */
export const fieldsOfRead = ({
  http_request_id: requestId,
  deployment_id: deploymentId,
}: Pick<LogRequest, 'http_request_id' | 'deployment_id'>) => ({
  ...(requestId === undefined ? {} : { requestId }),
  deploymentId,
});

export const namesOf = (request: LogRequest) => ({
  ...fieldsOfRead(request),
  logRequestId: request.request_id,
});

/** The end of a log as part of a chunk. */
export const inChunk = ({ end, reason }: StreamEnd) => ({ end, end_reason: reason });

export class LogDelivery {
  readonly #options: DeliveryOptions;

  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  /**
   * Sends a chunk repeatedly until it is accepted, the reader is gone, or the signal fires.
   * @returns whether the hub accepted the chunk
   */
  async deliver(chunk: Chunk, signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#options;
    let until = clock.now() + GIVE_UP_MS;
    for (let refusals = 0; !signal.aborted && clock.now() < until; ) {
      const answer = await this.post(chunk, signal).catch((error) => this.#failed(error, signal));
      if (typeof answer === 'boolean') return answer;
      if (answer === 'full') {
        // The reader is slow but present. The hub reports when the reader leaves.
        until = clock.now() + GIVE_UP_MS;
        await sleep(clock, Math.min(LONGEST_PAUSE_MS, FULL_PAUSE_MS * 2 ** refusals), signal);
        refusals += 1;
      } else await sleep(clock, answer, signal);
    }
    return false;
  }

  /**
   * Sends a chunk once.
   * @returns true: accepted; full: the caller must send the chunk again later
   * @throws HubError
   */
  async post(chunk: Chunk, signal: AbortSignal): Promise<true | 'full'> {
    const { hub, term, request } = this.#options;
    const { state } = await hub.logChunk(request.request_id, { epoch: term.epoch, ...chunk }, { signal });
    return state === 'taken' ? true : state;
  }

  /** @returns false: the reader is gone; a number: send again after so many milliseconds */
  #failed(error: unknown, signal: AbortSignal): false | number {
    const { term, logger, request } = this.#options;
    if (signal.aborted) return false;
    if (!(error instanceof HubError)) throw error;
    if (error.kind === 'conflict') term.end(error.message);
    if (error.kind !== 'unavailable' || error.status === READER_GONE) return false;
    logger.warn(
      { ...namesOf(request), err: error.message },
      'failed to send lines of a log; next: none, it is retried',
    );
    return Math.max(error.retryAfterMs ?? 0, RETRY_MS);
  }
}
