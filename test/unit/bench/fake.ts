/** A bench that starts nothing. */
import type { Bench, BenchContext, Sample } from '../../bench/bench.ts';

/** Of a run with the Berth of this folder. */
export const context = (root = '/a'): BenchContext => ({
  root,
  n: null,
  profiles: null,
  log: () => undefined,
  shared: (_name, start) => start(),
});

/** A bench that notes the order of its rounds; values come from `value`. */
export function fake(order: string[], value: (side: string, round: number) => number): Bench {
  return {
    name: 'fake',
    what: 'Nothing.',
    floor: 'Less.',
    n: 10,
    runs: 4,
    measures: [
      { name: 'rate', unit: 'req/s', goal: { of: 'ratio', is: 'at least', limit: 0.9 } },
      { name: 'own', unit: 'ms' },
    ],
    async start({ root }) {
      const counts = new Map<string, number>();
      const round = (side: string) => async (): Promise<Sample> => {
        const at = counts.get(side) ?? 0;
        counts.set(side, at + 1);
        order.push(`${root} ${side}`);
        const rate = value(side, at);
        return side === 'ours' ? { rate, own: 1 } : { rate };
      };
      return {
        ours: round('ours'),
        floor: round('floor'),
        plots: () => [
          { name: 'p', title: 'T < U', x: 'n', y: 's', lines: [{ name: 'l', points: [[1, 2]] }] },
        ],
        stop: async () => void order.push('stop'),
      };
    },
  };
}
