import { setTimeout as delay } from 'node:timers/promises';
import { ApiProblem, isPassing } from '../call-problem.ts';
import type { Context } from '../context.ts';

/** Logs on standard output: one line each, or one object each with `-o json`. */

// Logs are untrusted text. Colors are kept, and all other terminal control sequences are removed.
// biome-ignore lint/suspicious/noControlCharactersInRegex: matches control characters on purpose
const COLOUR = /\u001b\[[0-9;]*m/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const CONTROLS = /\u001b\[[0-9;]*m|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/** A log line without control sequences except colors. */
export function harmless(text: string): string {
  return text.replace(CONTROLS, (found) => (COLOUR.test(found) ? found : ' '));
}

const PAUSE_MS = 1000;
/** Maximum number of consecutive responses that are cut off before they return a line. */
const MAX_TRIES = 5;

/** The last line of a response, which says why the stream ends. */
interface StreamEnd {
  readonly end: string;
  readonly reason: 'complete' | 'continue' | 'denied' | 'failed';
}

const isEnd = (line: unknown): line is StreamEnd => (line as Partial<StreamEnd>).end !== undefined;

/**
 * The message of a stream that is complete. null: the next request continues the stream.
 * @throws ApiProblem when another request fails, or when an error ended the response
 */
export function messageAtEnd({ end, reason }: StreamEnd): string | null {
  const message = harmless(String(end));
  if (reason === 'complete') return message;
  if (reason === 'continue') return null;
  // The message names who lacks the right. This can also be the listener.
  if (reason === 'denied') throw new ApiProblem(403, message, null);
  throw new ApiProblem(503, message);
}

/** Whether an error is transient. */
function mayPass(error: unknown, context: Context): boolean {
  return context.stopped.aborted || (error instanceof ApiProblem && isPassing(error));
}

/**
 * The lines of one response.
 * @returns why the log ends. null: the next request continues the log. undefined: the response was cut off
 * @throws ApiProblem when the right to read was lost, or an error ended the response
 */
async function* linesOf(
  answer: AsyncIterable<unknown>,
  onLine: () => void,
): AsyncGenerator<unknown, string | null | undefined> {
  for await (const line of answer) {
    if (isEnd(line)) return messageAtEnd(line);
    onLine();
    yield line;
  }
  return undefined;
}

/**
 * The lines of consecutive responses, until a response reports the end of the log. Prints the reason of the end.
 * @param ask requests the lines after the given number of lines
 */
export async function* followed(
  context: Context,
  ask: (read: number) => AsyncIterable<unknown>,
): AsyncGenerator<unknown> {
  let read = 0;
  for (let tries = 1; !context.stopped.aborted; tries += 1) {
    const before = read;
    try {
      const over = yield* linesOf(ask(read), () => {
        read += 1;
      });
      if (typeof over === 'string') return context.note(over);
      // The server also ends quiet streams in order.
      if (over === null) tries = 0;
    } catch (error) {
      if (!mayPass(error, context) || tries >= MAX_TRIES) throw error;
    }
    if (read > before) tries = 0;
    await delay(PAUSE_MS, undefined, { signal: context.stopped }).catch(() => undefined);
  }
}

/** Prints lines as they arrive. */
export async function showLines(
  context: Context,
  lines: AsyncIterable<unknown> | Iterable<unknown>,
  asText: (line: unknown) => string,
): Promise<void> {
  for await (const line of lines)
    context.print(context.format === 'table' ? harmless(asText(line)) : JSON.stringify(line));
}
