import type { Bench, Sample } from '../bench.ts';
import { ROLES } from './berth.ts';
import { fill, withCosts } from './fill.ts';
import { openPlayer, play } from './recording.ts';
import { body } from './samples.ts';
import { besideNothing, inOwnWorld, recordingOf, WARM } from './sides.ts';

const DEPLOYMENTS = 40;
/** Steps by which the number grows; each costs as long as its deployments take. */
const STEPS = 4;
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

const told = (line: Line) => line.map(([n, ms]) => `${n}: ${ms.toFixed(1)} ms`).join(', ');

export const bench: Bench = {
  name: 'growth',
  what: `Time of a deployment while there are more and more: ${DEPLOYMENTS} (--n: as many), switched off, in ${STEPS} equal steps over 16 connections, each until everything is there, after ${WARM} that do not count. growth: the last step beside the first one. processor growth: the same of the processor time that all roles of Berth take.`,
  floor:
    'The same writes in the same steps, by the program of converge: what Kubernetes itself takes longer for, the more there is in it.',
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
    const size = Math.ceil((context.n ?? DEPLOYMENTS) / STEPS);
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
          await fill(berth, apps, load, { count: WARM, pods: 0, prefix: 'warm-', objects });
          for (let step = 1; step <= STEPS; step += 1) {
            const prefix = `growth-${step}-`;
            const { result, costs } = await withCosts(berth, size, () =>
              fill(berth, apps, load, { count: size, pods: 0, prefix, objects, log }),
            );
            lines.own.push([step * size, (result.seconds * MS) / size]);
            const all = ROLES.reduce((sum, role) => sum + (costs[`${role} processor`] ?? 0), 0);
            lines.processor.push([step * size, all]);
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
          await play(player, { prefix: 'warm', count: WARM });
          for (let step = 1; step <= STEPS; step += 1) {
            const began = performance.now();
            await play(player, { prefix: `grow${step}`, count: size });
            lines.floor.push([step * size, (performance.now() - began) / size]);
            log(`${step * size} deployments are written`);
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
