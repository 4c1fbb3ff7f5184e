import type { Bench, Sample } from '../bench.ts';
import { processUsage } from '../process-usage.ts';
import { ROLES } from './berth.ts';
import { fill, withCosts } from './fill.ts';
import { openPlayer, play } from './playing.ts';
import { body } from './samples.ts';
import { besideNothing, inOwnWorld, recordingOf, WARM } from './sides.ts';

const DEPLOYMENTS = 100;
/** Where a step ends, of all: at 5,000 deployments, 100, 1,000, 2,000 … */
const ENDS = [0.02, 0.2, 0.4, 0.6, 0.8, 1];
/** Of all, before the first step: what a process learns with its first deployments is no growth. On both sides. */
const WARM_SHARE = 0.04;
const MS = 1000;
const LIMIT = 1.1;
/** What takes Kubernetes itself longer with each Service of a namespace would be most of what is measured, on both sides. */
const LARGE = { isLarge: true };

/** What a step cost, by how many deployments there were at its end. */
type Line = [number, number][];

/** Of each step, and the last beside the first. */
function measured(line: Line, cost: Line): Sample {
  const [first = 0, last = 0] = [line[0]?.[1], line.at(-1)?.[1]];
  const growth = { 'first step': first, 'last step': last, growth: last / first };
  const [least, most] = [cost[0]?.[1], cost.at(-1)?.[1]];
  return least === undefined || most === undefined ? growth : { ...growth, 'processor growth': most / least };
}

/** From each end to the next. */
const steps = (ends: readonly number[]) =>
  ends.map((end, index) => ({ end, count: end - (ends[index - 1] ?? 0) })).filter(({ count }) => count > 0);

const told = (line: Line) => line.map(([n, ms]) => `${n}: ${ms.toFixed(1)} ms`).join(', ');

export const bench: Bench = {
  name: 'growth',
  what: `Time of a deployment while there are more and more: {n}, switched off, in ${ENDS.length} steps over 16 connections, each until everything is there, after some (${100 * WARM_SHARE} %, at least ${WARM}) that do not count. growth: the last step beside the first one. processor growth: the same of the processor time that all roles of Berth take.`,
  floor:
    'The same writes in the same steps, by the program of converge: what Kubernetes itself takes longer for, the more there is in it.',
  n: DEPLOYMENTS,
  goalsFrom: 5000,
  runs: 1,
  fresh: true,
  measures: [
    { name: 'first step', unit: 'ms/deployment' },
    { name: 'last step', unit: 'ms/deployment' },
    { name: 'growth', unit: 'times', goal: { of: 'ratio', is: 'at most', limit: LIMIT } },
    { name: 'processor growth', unit: 'times', goal: { of: 'value', is: 'at most', limit: LIMIT } },
  ],
  start: async (context) => {
    const recording = await recordingOf(context, 'growth', (name) => body(name, 0));
    const { objects } = recording;
    const { log } = context;
    const all = context.n ?? DEPLOYMENTS;
    const warm = Math.max(WARM, Math.round(all * WARM_SHARE));
    const ends = ENDS.map((share) => Math.max(1, Math.round(all * share)));
    const memory = new Map<string, number[]>();
    const lines: { own: Line; processor: Line; floor: Line } = { own: [], processor: [], floor: [] };
    let note = '';
    const ours = () =>
      inOwnWorld(
        context,
        'growth',
        async ({ berth, apps, load }) => {
          note = berth.note;
          lines.own = [];
          lines.processor = [];
          memory.clear();
          await fill(berth, apps, load, { count: warm, pods: 0, prefix: 'warm-', objects });
          for (const { end, count } of steps(ends)) {
            const prefix = `growth-${end}-`;
            const { result, costs } = await withCosts(berth, count, () =>
              fill(berth, apps, load, { count, pods: 0, prefix, objects, log }),
            );
            lines.own.push([end, (result.seconds * MS) / count]);
            const spent = ROLES.reduce((sum, role) => sum + (costs[`${role} processor`] ?? 0), 0);
            lines.processor.push([end, spent]);
            for (const role of ROLES)
              memory.set(role, [...(memory.get(role) ?? []), processUsage(berth.pidOf(role)).rssMib]);
            log(`${end} deployments: ${((result.seconds * MS) / count).toFixed(1)} ms each`);
          }
          return measured(lines.own, lines.processor);
        },
        LARGE,
      );
    const floor = () =>
      besideNothing(
        context,
        'floor',
        async (berth) => {
          lines.floor = [];
          const player = await openPlayer(recording, berth);
          await play(player, { prefix: 'warm', count: warm });
          for (const { end, count } of steps(ends)) {
            const began = performance.now();
            await play(player, { prefix: `grow${end}`, count });
            lines.floor.push([end, (performance.now() - began) / count]);
            log(`${end} deployments are written`);
          }
          await player.close();
          return measured(lines.floor, []);
        },
        LARGE,
      );
    return {
      ours,
      floor,
      notes: () => [
        `By the number of deployments at a step's end: ${told(lines.own)}; the same writes: ${told(lines.floor)}; processor of Berth: ${told(lines.processor)}.`,
        `Memory at a step's end, in the midst of work: ${[...memory].map(([role, mib]) => `${role} ${mib.map((each) => each.toFixed(0)).join(', ')} MiB`).join('; ')}.`,
        note,
      ],
      plots: () => [
        {
          name: 'cost',
          title: 'A deployment by how many there are',
          x: 'deployments',
          y: 'ms a deployment',
          lines: [
            { name: 'Berth', points: lines.own },
            { name: 'the same writes', points: lines.floor },
            { name: 'processor of Berth', points: lines.processor },
          ],
        },
      ],
    };
  },
};
