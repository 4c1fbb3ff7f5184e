import { tenantHeaders } from '../api/client.ts';
import { apiUrl } from '../app/addresses.ts';
import { pause, watchSilence } from './stream-timing.ts';
import { chunksOf, type Hint, isEnd, isHint, linesOf } from './watch-items.ts';

/** Reads the stream of changes of a tenant again and again. */

/** The server sends at least an empty line every five seconds. */
export const SILENCE_MS = 15_000;
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 15_000;

export interface StreamEvents {
  readonly hint: (hint: Hint) => void;
  /** Called for each line: the stream works. */
  readonly alive: () => void;
  /** The stream ended, and did not yet begin again. */
  readonly down: () => void;
  /** The session has ended or lost its rights. */
  readonly denied: () => void;
}

/** Time before the next attempt, in milliseconds, with a random part, so that many browsers do not return together. */
export const pauseAfter = (failures: number, random: number): number =>
  Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures, 10)) * (0.5 + random / 2);

type Ending = 'again' | 'denied' | 'failed';

/** Reads one stream to its end. */
async function readOnce(tenantId: string, events: StreamEvents, signal: AbortSignal): Promise<Ending> {
  const silence = watchSilence(SILENCE_MS);
  try {
    const response = await fetch(`${apiUrl}/v2/watch`, {
      headers: tenantHeaders(tenantId),
      signal: AbortSignal.any([signal, silence.signal]),
    });
    if (response.status === 401 || response.status === 403) return 'denied';
    if (!response.ok || response.body === null) return 'failed';
    for await (const item of linesOf(chunksOf(response.body))) {
      silence.alive();
      events.alive();
      if (isHint(item)) events.hint(item);
      if (isEnd(item))
        return item.reason === 'denied' ? 'denied' : item.reason === 'failed' ? 'failed' : 'again';
    }
    return 'failed';
  } catch {
    return 'failed';
  } finally {
    silence.stop();
  }
}

/** Reads streams until `signal` aborts. */
export async function readChanges(
  tenantId: string,
  events: StreamEvents,
  signal: AbortSignal,
): Promise<void> {
  for (let failures = 0; !signal.aborted; ) {
    let worked = false;
    const noticed = {
      ...events,
      alive: () => {
        worked = true;
        events.alive();
      },
    };
    const ending = await readOnce(tenantId, noticed, signal);
    if (signal.aborted) return;
    failures = worked ? 0 : failures + 1;
    if (ending === 'again') continue;
    events.down();
    if (ending === 'denied') events.denied();
    await pause(pauseAfter(ending === 'denied' ? 10 : failures, Math.random()), signal);
  }
}
