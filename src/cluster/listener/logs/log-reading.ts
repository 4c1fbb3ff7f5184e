import {
  LOG_SIGN_OF_LIFE_MS,
  MAX_PIECE_CHARACTERS,
  MAX_PIECE_LINES,
} from '../../../contract/protocol/log-protocol.ts';
import type { StreamEnd } from '../../../domain/core/stream-end.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { sleep } from '../../kube/client/clock.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import { listAllForReaders } from './list-for-readers.ts';
import { LogBuffer } from './log-buffer.ts';
import { type DeliveryOptions, inChunk, LogDelivery, namesOf } from './log-delivery.ts';
import { SKIPPED_LINE, selectContainers, skippedSentence } from './log-slots.ts';
import {
  type LoggedContainer,
  loggedContainers,
  podSelector,
  statusOnly,
  type WorkloadPod,
} from './workload-pod.ts';

/** Reads the logs of one deployment for one reader, optionally follows them, and sends them in chunks. */

export interface ReadingOptions extends DeliveryOptions {
  readonly client: Pick<KubeClient, 'list' | 'listAll' | 'readLog'>;
  /** Fires to stop the read. */
  readonly signal: AbortSignal;
}

/** How often pods are listed while their logs are followed. */
const POLL_MS = 2000;
/** Pause between two chunks. Limits the cost of one reader. */
const CHUNK_PAUSE_MS = 200;
/**
 * Number of consecutive polls after which a skipped container is reported. Most containers that have ended free their
 * slot at once.
 */
const MAX_SKIPPED_POLLS = 3;
/** Time without a response of the cluster after which the read ends. */
const GIVE_UP_MS = 30_000;

/** State of a container's log. */
interface Tail {
  /** Timestamp of the last line that was read. */
  at: string | undefined;
  isRunning: boolean;
  isDone: boolean;
  failures: number;
  /** Whether the container existed when the read began. Only then does the limit on the newest lines apply to it. */
  readonly isFirst: boolean;
  /** Number of consecutive polls in which the container had no slot. */
  left: number;
}

const complete = (end: string): StreamEnd => ({ end, reason: 'complete' });
const NO_PODS = 'No requested pod of the deployment has started.';
const NO_FORMER = 'No requested container has a previous run.';
const ALL = 'All available lines were returned.';
const FORBIDDEN: StreamEnd = {
  end: 'The listener of the cluster lacks the right to list pods or to read their logs.',
  reason: 'denied',
};
const STOPPED: StreamEnd = {
  end: 'The listener of the cluster was stopped. Send the request again.',
  reason: 'continue',
};
const STOP_MS = 1000;
const AWAY: StreamEnd = { end: 'The cluster of the deployment does not respond.', reason: 'failed' };

const newTail = (isFirst: boolean): Tail => ({
  at: undefined,
  isRunning: false,
  isDone: false,
  failures: 0,
  isFirst,
  left: 0,
});

export class LogReading {
  readonly #options: ReadingOptions;
  readonly #delivery: LogDelivery;
  readonly #buffer = new LogBuffer();
  readonly #tails = new Map<string, Tail>();
  readonly #ending = new AbortController();
  #seq = 0;
  #unread = 0;

  constructor(options: ReadingOptions) {
    this.#options = options;
    this.#delivery = new LogDelivery(options);
  }

  /** Resolves when everything is sent, the reader is gone, or the signal fires. Never rejects. */
  async run(): Promise<void> {
    const { signal } = this.#options;
    const stop = () => {
      this.#ending.abort();
      this.#buffer.close();
    };
    if (signal.aborted) return;
    signal.addEventListener('abort', stop, { once: true });
    try {
      await this.#send(this.#read());
    } finally {
      stop();
      signal.removeEventListener('abort', stop);
      if (signal.aborted) await this.#reportStop();
    }
  }

  /**
   * Reads until the log is complete.
   * @returns why the log ends
   */
  async #read(): Promise<StreamEnd> {
    const { request, clock } = this.#options;
    const { signal } = this.#ending;
    try {
      for (let polls = 0; !signal.aborted; polls += 1) {
        const all = await this.#poll();
        for (const { key } of all) if (!this.#tails.has(key)) this.#tails.set(key, newTail(polls === 0));
        const { read, left } = selectContainers(all, (key) => this.#tails.get(key));
        const reading = read.map((container) => this.#follow(container));
        if (!request.query.follow) {
          await Promise.all(reading);
          return this.#sum(all.length, left);
        }
        this.#reportSkipped(left);
        await sleep(clock, POLL_MS, signal);
      }
      return complete(ALL);
    } catch (error) {
      return isKubeError(error, 'forbidden') ? FORBIDDEN : AWAY;
    } finally {
      this.#buffer.wake();
    }
  }

  #sum(found: number, left: readonly LoggedContainer[]): StreamEnd {
    if (found === 0) return complete(this.#options.request.query.previous ? NO_FORMER : NO_PODS);
    const unread = this.#unread === 0 ? '' : ` The logs of ${this.#unread} containers could not be read.`;
    return complete(`${ALL}${unread}${skippedSentence(left)}`);
  }

  /** Reports each skipped container once, with a line among the lines of the other containers. */
  #reportSkipped(left: readonly LoggedContainer[]): void {
    const keys = new Set(left.map(({ key }) => key));
    for (const [key, tail] of this.#tails) if (!keys.has(key) && tail.left < MAX_SKIPPED_POLLS) tail.left = 0;
    for (const { key, source } of left) {
      const tail = this.#tails.get(key);
      if (tail === undefined) continue;
      tail.left += 1;
      if (tail.left !== MAX_SKIPPED_POLLS) continue;
      const at = this.#options.clock.date().toISOString();
      void this.#buffer.add({ at, ...source, text: SKIPPED_LINE });
    }
  }

  /** The containers to read. When logs are followed, a short outage of the cluster is tolerated. */
  async #poll(): Promise<LoggedContainer[]> {
    const { clock, request } = this.#options;
    const { signal } = this.#ending;
    const until = clock.now() + GIVE_UP_MS;
    for (;;) {
      try {
        return await this.#containers();
      } catch (error) {
        const mayPass = isKubeError(error) && error.retryable && error.kind !== 'forbidden';
        if (!request.query.follow || !mayPass || signal.aborted || clock.now() > until) throw error;
        await sleep(clock, POLL_MS, signal);
      }
    }
  }

  async #containers(): Promise<LoggedContainer[]> {
    const { client, request } = this.#options;
    const { signal } = this.#ending;
    const selected = { namespace: request.namespace, labelSelector: podSelector(request), signal };
    const pods = await listAllForReaders<WorkloadPod>(client, RESOURCES.Pod, selected, statusOnly);
    const all = pods.flatMap((pod) => loggedContainers(pod, request.query.previous));
    const present = new Set(all.map(({ key }) => key));
    for (const [key, tail] of this.#tails) if (!present.has(key) && !tail.isRunning) this.#tails.delete(key);
    return all;
  }

  /** Reads one log, unless it is complete or being read. An interrupted stream is resumed with the next poll. */
  async #follow(container: LoggedContainer): Promise<void> {
    const { key, hasEnded } = container;
    const tail = this.#tails.get(key);
    if (tail === undefined || tail.isRunning || tail.isDone) return;
    tail.isRunning = true;
    try {
      await this.#tail(container, tail);
      tail.isDone = hasEnded;
    } catch (error) {
      // The container has just started, or its pod is gone. The next poll shows which.
      const { logger, request } = this.#options;
      if (!isKubeError(error, 'bad_request', 'not_found', 'aborted') && !this.#ending.signal.aborted) {
        tail.failures += 1;
        this.#unread += 1;
        if (tail.failures === 1)
          logger.warn({ ...namesOf(request), err: String(error) }, 'failed to read a log');
      }
    } finally {
      tail.isRunning = false;
    }
  }

  async #tail({ pod, source }: LoggedContainer, tail: Tail): Promise<void> {
    const { client, request } = this.#options;
    const { since, limit, follow, previous } = request.query;
    const { at: from, isFirst } = tail;
    const lines = client.readLog(pod, {
      container: source.container,
      since: from ?? since,
      // A container that starts later is read completely.
      tail: from === undefined && isFirst ? limit : undefined,
      follow,
      previous,
      signal: this.#ending.signal,
    });
    for await (const { at, text } of lines) {
      // The API filters by whole seconds, so some lines were read before.
      if (from !== undefined && at <= from) continue;
      if (!(await this.#buffer.add({ at, ...source, text }))) return;
      tail.at = at;
    }
  }

  /** Sends lines, or an empty chunk as a sign of life, until the end was sent or the reader is gone. */
  async #send(reading: Promise<StreamEnd>): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#ending;
    let end: StreamEnd | undefined;
    reading.then((why) => {
      end = why;
      this.#buffer.wake();
    });
    while (!signal.aborted) {
      const lines = this.#buffer.take(MAX_PIECE_LINES, MAX_PIECE_CHARACTERS);
      const last = this.#buffer.isEmpty ? end : undefined;
      this.#seq += 1;
      const chunk = { seq: this.#seq, lines, ...(last === undefined ? {} : inChunk(last)) };
      if (!(await this.#delivery.deliver(chunk, signal)) || last !== undefined) return;
      await sleep(clock, CHUNK_PAUSE_MS, signal);
      if (this.#buffer.isEmpty && end === undefined)
        await Promise.race([this.#buffer.content, sleep(clock, LOG_SIGN_OF_LIFE_MS, signal)]);
    }
  }

  /** The listener stops. The reader is informed, so that it does not wait for a timeout. */
  async #reportStop(): Promise<void> {
    if (!this.#options.term.isValid()) return;
    const chunk = { seq: this.#seq + 1, lines: [], ...inChunk(STOPPED) };
    await this.#delivery.post(chunk, AbortSignal.timeout(STOP_MS)).catch(() => undefined);
  }
}
