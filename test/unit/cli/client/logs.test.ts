import { describe, expect, test } from 'vitest';
import { ApiProblem } from '../../../../src/cli/client/call-problem.ts';
import type { Client } from '../../../../src/cli/client/client.ts';
import type { Context } from '../../../../src/cli/client/context.ts';
import { followed, harmless } from '../../../../src/cli/client/logs/log-output.ts';

test('keeps colors, and replaces all other control characters', () => {
  expect(harmless('\u001b[1;31mred\u001b[0m\ttab')).toBe('\u001b[1;31mred\u001b[0m\ttab');
  expect(harmless('a\u001b[2Jb\rc\u0007d\u202ee\u009bf')).toBe('a [2Jb c d e f');
});

function context(lines: Client['lines'] = async function* () {}): Context {
  const client = { lines, GET: () => Promise.reject(new Error('not expected')) } as unknown as Client;
  const stopped = new AbortController().signal;
  return { client, format: 'table', print: () => undefined, note: () => undefined, stopped };
}

async function all(lines: AsyncIterable<unknown>): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const line of lines) found.push(line);
  return found;
}

describe('following a log', () => {
  test('continues after a response that was cut off or requires another request, and ends at the end of the log', async () => {
    const answers = [
      [{ text: 'a' }, { text: 'b' }],
      [{ text: 'c' }, { end: 'The time limit is reached.', reason: 'continue' }],
      [{ text: 'd' }, { end: 'The log is complete.', reason: 'complete' }],
    ];
    const asked: number[] = [];
    const lines = followed(context(), async function* (read) {
      asked.push(read);
      yield* answers.shift() ?? [];
    });
    expect(await all(lines)).toEqual(['a', 'b', 'c', 'd'].map((text) => ({ text })));
    expect(asked).toEqual([0, 2, 3]);
  });

  test('prints why the log ends', async () => {
    const notes: string[] = [];
    const lines = followed({ ...context(), note: (text) => void notes.push(text) }, async function* () {
      yield { end: 'The log is complete.', reason: 'complete' };
    });
    expect(await all(lines)).toEqual([]);
    expect(notes).toEqual(['The log is complete.']);
  });

  test('stops at once when the right to read was lost', async () => {
    let tries = 0;
    const lines = followed(context(), async function* () {
      tries += 1;
      yield { end: 'The API key is no longer valid.', reason: 'denied' };
    });
    await expect(all(lines)).rejects.toMatchObject({
      status: 403,
      message: 'The API key is no longer valid.',
    });
    expect(tries).toBe(1);
  });

  test('continues after a response that an error ended', async () => {
    const answers = [
      [{ text: 'a' }, { end: 'The database does not respond.', reason: 'failed' }],
      [{ text: 'b' }, { end: 'The log is complete.', reason: 'complete' }],
    ];
    const lines = followed(context(), async function* () {
      yield* answers.shift() ?? [];
    });
    expect(await all(lines)).toEqual([{ text: 'a' }, { text: 'b' }]);
  });

  test('continues after an error when the responses before it had no lines and ended in order', async () => {
    let requests = 0;
    const lines = followed(context(), async function* () {
      requests += 1;
      if (requests === 6) throw new ApiProblem(503, 'no');
      yield requests < 6 ? { end: 'time limit', reason: 'continue' } : { end: 'over', reason: 'complete' };
    });
    expect(await all(lines)).toEqual([]);
    expect(requests).toBe(7);
  }, 20_000);

  test('stops at once after a 404, and after a few attempts when the error may be temporary', async () => {
    let tries = 0;
    const failing = (status: number | null) =>
      followed(context(), async function* () {
        tries += 1;
        yield* [];
        throw new ApiProblem(status, 'no');
      });
    await expect(all(failing(404))).rejects.toThrow('no');
    expect(tries).toBe(1);
    await expect(all(failing(503))).rejects.toThrow('no');
    expect(tries).toBe(6);
  }, 20_000);
});
