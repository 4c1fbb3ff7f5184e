import { setTimeout as sleep } from 'node:timers/promises';
import type { StreamEnd } from '../../../domain/core/stream-end.ts';
import type { WatchReader } from './watch-reader.ts';

/** The lines of one stream of changes. */

/** Time after which a stream without changes checks whether it must end. */
const CHECK_MS = 5_000;
/** Minimum time between two batches, in which changes of the same deployment are combined. */
const MIN_PAUSE_MS = 100;

/** Facts that decide whether a stream ends. */
export interface WatchState {
  /** Whether the stream ends in favor of another tenant. */
  readonly gaveWay: boolean;
  /** Whether the server shuts down, or the client has disconnected. */
  readonly aborted: boolean;
  /** Time until the stream must end. */
  readonly leftMs: number;
}

const AGAIN = 'Send the request again.';

/** The end of a stream; null: the stream continues. The first rule that matches applies. */
export function watchEnd({ gaveWay, aborted, leftMs }: WatchState): StreamEnd | null {
  if (gaveWay)
    return { end: `Too many streams are open, and other tenants have fewer. ${AGAIN}`, reason: 'continue' };
  if (aborted) return { end: `The API shuts down. ${AGAIN}`, reason: 'continue' };
  if (leftMs <= 0) return { end: `The time limit is reached. ${AGAIN}`, reason: 'continue' };
  return null;
}

export interface Watching {
  readonly reader: WatchReader;
  /** Aborts when the client disconnects, the server shuts down, or the caller loses its rights. */
  readonly signal: AbortSignal;
  /** Duration of the stream. */
  readonly ms: number;
}

/**
 * Yields batches of lines, of which the first is a reset. The next batch is taken when the client has received the previous
 * one, so a slow client gets fewer lines, not later ones. An empty batch is a keepalive.
 */
export async function* watchChanges({ reader, signal, ms }: Watching): AsyncGenerator<readonly object[]> {
  const until = performance.now() + ms;
  for (;;) {
    const state = {
      gaveWay: reader.hasGivenWay,
      aborted: signal.aborted,
      leftMs: until - performance.now(),
    };
    const end = watchEnd(state);
    if (end !== null) {
      yield [end];
      return;
    }
    const lines = reader.take();
    yield lines;
    if (lines.length > 0) await sleep(MIN_PAUSE_MS, undefined, { signal }).catch(() => undefined);
    await reader.wait(Math.max(0, Math.min(CHECK_MS, until - performance.now())), signal);
  }
}
