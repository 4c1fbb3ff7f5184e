import { expect, test, vi } from 'vitest';
import type { Bench } from '../../bench/bench.ts';
import { readArguments } from '../../bench/command-line.ts';
import { measure } from '../../bench/run.ts';
import { fake } from './fake.ts';

/** Shares a thing of that name, and tells when it starts and stops. */
function sharing(name: string, thing: string, told: string[], besideMany = false): Bench {
  const bench = fake([], () => 1);
  return {
    ...bench,
    name,
    ...(besideMany ? { besideMany: true } : {}),
    start: async (context) => {
      await context.shared(thing, async () => {
        told.push(`${thing} starts`);
        return { stop: async () => void told.push(`${thing} stops`) };
      });
      told.push(name);
      return bench.start(context);
    },
  };
}

/** What `measure` does of some benches, quietly. @returns what it failed with; undefined: it did not */
async function measured(benches: readonly Bench[]): Promise<string | undefined> {
  const spies = (['log', 'error'] as const).map((way) =>
    vi.spyOn(console, way).mockImplementation(() => undefined),
  );
  try {
    await measure(readArguments(['--json']), benches, { all: [], typed: '--json' });
    return undefined;
  } catch (error) {
    return (error as Error).message;
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

test('a filled world is there for all that share it, and not beside what comes after them; the rest until the end', async () => {
  const told: string[] = [];
  const failure = await measured([
    sharing('restart', 'filled: 5', told, true),
    sharing('steady', 'filled: 5', told, true),
    sharing('visible', 'postgres', told),
    sharing('writes', 'filled: 5', told),
  ]);
  expect(failure).toBeUndefined();
  expect(told).toEqual([
    ...['filled: 5 starts', 'restart', 'steady', 'filled: 5 stops'],
    ...['postgres starts', 'visible', 'filled: 5 starts', 'writes'],
    ...['filled: 5 stops', 'postgres stops'],
  ]);
});

test('a bench that fails does not end the others, which get a filled world of their own; all that failed are told', async () => {
  const told: string[] = [];
  const broken: Bench = {
    ...sharing('restart', 'filled: 5', told, true),
    start: async (context) => {
      await sharing('restart', 'filled: 5', told, true).start(context);
      throw new Error('it did not calm down');
    },
  };
  const failure = await measured([broken, sharing('steady', 'filled: 5', told, true)]);
  expect(failure).toBe('failed to measure restart: it did not calm down');
  expect(told).toEqual([
    ...['filled: 5 starts', 'restart', 'filled: 5 stops'],
    ...['filled: 5 starts', 'steady', 'filled: 5 stops'],
  ]);
});
