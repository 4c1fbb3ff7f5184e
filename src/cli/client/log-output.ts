import { setTimeout as delay } from 'node:timers/promises';
import { ApiProblem, isPassing } from './call-problem.ts';
import type { Context } from './context.ts';

/** Logs on standard output: a line each for people, an object each with `-o json`. */

// Logs are strangers' texts: colours may stay, whatever else controls a terminal may not.
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
const COLOUR = /\u001b\[[0-9;]*m/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const CONTROLS = /\u001b\[[0-9;]*m|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/** A line of a log as a terminal may show it. */
export function harmless(text: string): string {
  return text.replace(CONTROLS, (found) => (COLOUR.test(found) ? found : ' '));
}

const PAUSE_MS = 1000;
/** An answer that broke off is asked for again; so often in a row without a line in between. */
const MOST_TRIES = 5;

/** Whether a line is the last of an answer; `again`: there is more for who asks again; `broken`: so there is, after a failure. */
function endOf(line: unknown): 'over' | 'again' | 'broken' | undefined {
  const { end } = line as { end?: unknown };
  if (end === undefined) return undefined;
  if (String(end).includes('broke off')) return 'broken';
  return String(end).includes('ask again') ? 'again' : 'over';
}

const told = (line: unknown): string => harmless(String((line as { end: unknown }).end));

/** Whether what went wrong may be over a moment later. */
function mayPass(error: unknown, context: Context): boolean {
  return context.stopped.aborted || (error instanceof ApiProblem && isPassing(error));
}

/**
 * The lines of one answer.
 * @returns why nothing comes after it; null: there is more for who asks again
 * @throws ApiProblem when it ended with a failure
 */
async function* linesOf(
  answer: AsyncIterable<unknown>,
  onLine: () => void,
): AsyncGenerator<unknown, string | null> {
  for await (const line of answer) {
    const end = endOf(line);
    if (end === 'broken') throw new ApiProblem(503, told(line));
    if (end !== undefined) return end === 'over' ? told(line) : null;
    onLine();
    yield line;
  }
  return null;
}

/**
 * The lines of answers that go on, one after another, until one of them tells that nothing comes after it: why, is noted.
 * @param ask for what comes after so many lines
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
      if (over !== null) return context.note(over);
    } catch (error) {
      if (!mayPass(error, context) || tries >= MOST_TRIES) throw error;
    }
    if (read > before) tries = 0;
    await delay(PAUSE_MS, undefined, { signal: context.stopped }).catch(() => undefined);
  }
}

/** Prints lines as they come. */
export async function showLines(
  context: Context,
  lines: AsyncIterable<unknown> | Iterable<unknown>,
  asText: (line: unknown) => string,
): Promise<void> {
  for await (const line of lines)
    context.print(context.format === 'table' ? harmless(asText(line)) : JSON.stringify(line));
}
