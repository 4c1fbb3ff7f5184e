import { setTimeout as sleep } from 'node:timers/promises';
import type { HostResponse } from '../../outbound/call-host.ts';
import { type Call, call } from './call.ts';
import { RegistryError } from './registry-error.ts';
import { ownRegistry, type RepositoryOptions } from './repository.ts';

/** Calls of the platform's own registry for an artifact. */

export const MANIFEST_TYPE = 'application/vnd.oci.image.manifest.v1+json';

/** A signal that fires when the registry does not progress. The time of the sender does not count. */
class StallTimer {
  readonly #stalled = new AbortController();
  readonly #ms: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(ms: number) {
    this.#ms = ms;
  }

  get signal(): AbortSignal {
    return this.#stalled.signal;
  }

  start(): void {
    this.stop();
    this.#timer = setTimeout(() => this.#stalled.abort(), this.#ms);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** The body, while whose parts are sent the time of the registry counts. */
  async *timed(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    this.stop();
    for await (const part of body) {
      this.start();
      yield part;
      this.stop();
    }
    this.start();
  }
}

export interface ArtifactCall extends Pick<Call, 'method' | 'body'> {
  readonly url: string;
  readonly type?: string;
  /** Length of a body that is not a stream. */
  readonly length?: number;
}

export async function callForArtifact(
  options: RepositoryOptions,
  { url, method, type, length, body }: ArtifactCall,
  signal: AbortSignal,
  stallMs: number,
): Promise<HostResponse> {
  const timer = new StallTimer(stallMs);
  const deadline = AbortSignal.any([signal, timer.signal]);
  const headers = {
    accept: MANIFEST_TYPE,
    authorization: `Bearer ${await options.token()}`,
    ...(type === undefined ? {} : { 'content-type': type }),
    ...(length === undefined ? {} : { 'content-length': String(length) }),
  };
  timer.start();
  try {
    const sent = body === undefined || body instanceof Uint8Array ? body : timer.timed(body);
    const request = {
      method,
      headers,
      ...ownRegistry(options),
      ...(sent === undefined ? {} : { body: sent }),
    };
    return await call(new URL(url), request, deadline);
  } catch (error) {
    signal.throwIfAborted();
    if (!timer.signal.aborted) throw error;
    throw new RegistryError('slow', 'the registry did not respond within the time limit');
  } finally {
    timer.stop();
  }
}

/**
 * Statuses of a call that another upload to the same repository can disturb. The registry of the distribution project (3.0, file system)
 * writes links in place, so a call at the same moment can read an empty one.
 */
const DISTURBED: ReadonlySet<number> = new Set([400, 500]);
const PAUSES_MS = [50, 150, 400, 1000];

/** Repeats a call that reads links, while other uploads may disturb it. @throws as `send`; the signal's reason */
export async function undisturbed(
  send: () => Promise<HostResponse>,
  signal: AbortSignal,
): Promise<HostResponse> {
  let answer = await send();
  for (const ms of PAUSES_MS) {
    if (!DISTURBED.has(answer.status)) break;
    // Uploads that disturb each other must not repeat their calls at the same moment.
    await sleep(ms * (0.5 + Math.random()), undefined, { signal }).catch(() => signal.throwIfAborted());
    answer = await send();
  }
  return answer;
}
