import { tenantHeaders } from '../api/client.ts';
import { isTemporary, Problem, problemOf, unreachable } from '../api/problem.ts';
import { apiUrl } from '../app/addresses.ts';
import { pause, watchSilence } from '../live/stream-timing.ts';
import { chunksOf, isEnd, linesOf, type StreamEnd } from '../live/watch-items.ts';
import type { LogEntry } from './log-lines.ts';
import { type LogPosition, withQuery } from './log-position.ts';

/** Reads a log to its end. A response that ends early is requested again from its last line. */

const PAUSE_MS = 1_000;
/** Maximum number of consecutive responses that end before they return a line. */
const MAX_TRIES = 5;
/** The API sends at least an empty line every few seconds. */
const SILENCE_MS = 45_000;

export interface LogEvents {
  readonly lines: (entries: readonly LogEntry[]) => void;
  /** The API has begun to answer. */
  readonly open: () => void;
  /** The answer ended early, and is requested again. */
  readonly interrupted: () => void;
}

export interface LogSource {
  readonly tenantId: string;
  readonly path: string;
  readonly position: LogPosition;
}

/** @throws Problem */
async function request(
  { tenantId, path, position }: LogSource,
  accept: string,
  signal: AbortSignal,
): Promise<Response> {
  position.begin();
  let response: Response;
  try {
    response = await fetch(`${apiUrl}${withQuery(path, position.query())}`, {
      headers: { ...tenantHeaders(tenantId), accept },
      signal,
    });
  } catch {
    throw unreachable();
  }
  if (response.ok) return response;
  throw problemOf(response, await response.json().catch(() => null));
}

/** The message of a stream that is complete; null: another request continues it. @throws Problem */
function messageAtEnd({ end, reason }: StreamEnd): string | null {
  if (reason === 'complete') return end;
  if (reason === 'continue') return null;
  throw new Problem(end, { status: reason === 'denied' ? 403 : 503, requestId: null });
}

/**
 * Reads one streamed answer.
 * @returns the message at its end; null: another request continues the log; undefined: it was cut off
 * @throws Problem
 */
async function readOnce(source: LogSource, events: LogEvents, signal: AbortSignal, onLine: () => void) {
  const silence = watchSilence(SILENCE_MS);
  try {
    const response = await request(source, 'application/x-ndjson', AbortSignal.any([signal, silence.signal]));
    events.open();
    if (response.body === null) return undefined;
    for await (const line of linesOf(chunksOf(response.body))) {
      silence.alive();
      if (isEnd(line)) return messageAtEnd(line);
      const entry = source.position.take(line);
      if (line !== undefined) onLine();
      if (entry !== null) events.lines([entry]);
    }
    return undefined;
  } catch (error) {
    if (error instanceof Problem) throw error;
    // The connection was lost, or a line was cut off.
    return undefined;
  } finally {
    silence.stop();
  }
}

interface Attempt {
  /** The message at the end of the log; null: another request continues it; undefined: the answer was cut off. */
  readonly message?: string | null | undefined;
  readonly problem: Problem | null;
  readonly hasRead: boolean;
}

/** One request, with the problem that ended it if another request may succeed. @throws Problem of another kind */
async function attempt(source: LogSource, events: LogEvents, signal: AbortSignal): Promise<Attempt> {
  let hasRead = false;
  try {
    const message = await readOnce(source, events, signal, () => {
      hasRead = true;
    });
    return { message, problem: null, hasRead };
  } catch (error) {
    if (!(error instanceof Problem) || !isTemporary(error)) throw error;
    return { problem: error, hasRead };
  }
}

/**
 * Follows a log.
 * @returns the message at its end; null: `signal` has aborted
 * @throws Problem
 */
export async function followLog(
  source: LogSource,
  events: LogEvents,
  signal: AbortSignal,
): Promise<string | null> {
  for (let tries = 1; !signal.aborted; tries += 1) {
    const { message, problem, hasRead } = await attempt(source, events, signal);
    if (signal.aborted) return null;
    if (typeof message === 'string') return message;
    // The server also ends quiet streams in order.
    if (message === null || hasRead) tries = 0;
    if (tries >= MAX_TRIES) throw problem ?? unreachable();
    events.interrupted();
    await pause(PAUSE_MS, signal);
  }
  return null;
}

/** Reads a log that does not continue. @returns the message at its end @throws Problem */
export async function readWholeLog(
  source: LogSource,
  events: LogEvents,
  signal: AbortSignal,
): Promise<string | null> {
  const response = await request(source, 'application/json', signal);
  events.open();
  const { resources, end } = (await response.json()) as { resources: readonly unknown[]; end: string };
  events.lines(resources.flatMap((line) => source.position.take(line) ?? []));
  return end;
}
