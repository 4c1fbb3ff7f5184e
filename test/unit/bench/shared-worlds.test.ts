import { expect, test, vi } from 'vitest';
import { measure, readArguments } from '../../../scripts/bench.ts';
import type { Bench } from '../../bench/bench.ts';
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

test('a filled world is there for all that share it, and not beside what comes after them; the rest until the end', async () => {
  const told: string[] = [];
  const spies = (['log', 'error'] as const).map((way) =>
    vi.spyOn(console, way).mockImplementation(() => undefined),
  );
  try {
    const benches = [
      sharing('restart', 'filled: 5', told, true),
      sharing('steady', 'filled: 5', told, true),
      sharing('visible', 'postgres', told),
      sharing('writes', 'filled: 5', told),
    ];
    await measure(readArguments(['--json']), benches, { all: [], typed: '--json' });
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
  expect(told).toEqual([
    ...['filled: 5 starts', 'restart', 'steady', 'filled: 5 stops'],
    ...['postgres starts', 'visible', 'filled: 5 starts', 'writes'],
    ...['filled: 5 stops', 'postgres stops'],
  ]);
});
