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

/**
 * Kind of the last line of a response. `again`: the next request continues the log. `broken`: a failure ended the
 * response. undefined: not the last line.
 */
function endOf(line: unknown): 'over' | 'again' | 'broken' | undefined {
  const { end } = line as { end?: unknown };
  if (end === undefined) return undefined;
  if (String(end).includes('broke off')) return 'broken';
  return String(end).includes('ask again') ? 'again' : 'over';
}

const messageOf = (line: unknown): string => harmless(String((line as { end: unknown }).end));

/** Whether an error is transient. */
function mayPass(error: unknown, context: Context): boolean {
  return context.stopped.aborted || (error instanceof ApiProblem && isPassing(error));
}

/**
 * The lines of one response.
 * @returns why the log ends; `again`: the next request continues the log; `cut off`: the response has no end
 * @throws ApiProblem when the response ended with a failure
 */
async function* linesOf(
  answer: AsyncIterable<unknown>,
  onLine: () => void,
): AsyncGenerator<unknown, { readonly over: string } | 'again' | 'cut off'> {
  for await (const line of answer) {
    const end = endOf(line);
    if (end === 'broken') throw new ApiProblem(503, messageOf(line));
    if (end !== undefined) return end === 'over' ? { over: messageOf(line) } : 'again';
    onLine();
    yield line;
  }
  return 'cut off';
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
      const end = yield* linesOf(ask(read), () => {
        read += 1;
      });
      if (typeof end === 'object') return context.note(end.over);
      // The server has ended a quiet stream in order.
      if (end === 'again') tries = 0;
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
