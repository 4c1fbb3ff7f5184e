import type { Bench, BenchContext, Sample } from '../bench.ts';
import { Apps } from './apps.ts';
import { ROLES } from './berth.ts';
import { type Line, MIN_WARM, noteSteps, type Steps, stepsOf, WARM_SHARE } from './fill-steps.ts';
import { ONE_TENANT, openStage, play } from './playing.ts';
import type { Recording } from './recording.ts';
import { body } from './samples.ts';
import { besideNothing, type FilledWorld, filledWorld, MEMORY_GOAL, recordingOf } from './sides.ts';

const DEPLOYMENTS = 100;
const LIMIT = 1.1;

/** Compares the last step with the second one. The first step is short, so its end with little parallel work matters too much. */
function measured(line: Line): Sample & { growth: number } {
  const [first = 0, second = 0, last = 0] = [line[0]?.[1], line[1]?.[1], line.at(-1)?.[1]];
  const steps = { 'first step': first, 'second step': second, 'last step': last };
  return { ...steps, increase: last - second, growth: last / second };
}

const growthOf = (line: Line) => measured(line).growth;

const shares = (line: Line) => line.map(([, percent]) => `${percent.toFixed(1)} %`).join(', ');

/** Fills Berth's world and another Kubernetes with the same writes, alternating step by step. */
const fillBoth = (
  context: BenchContext,
  recording: Recording,
  count: number,
): Promise<{ world: FilledWorld; beside: Steps }> =>
  besideNothing(
    context,
    'floor',
    async (place) => {
      await using stage = await openStage(recording, place);
      const player = stage.player(ONE_TENANT);
      await using _watches = await Apps.start(place.admin, place.namespace);
      await play(player, { prefix: 'warm', count: stepsOf(count).warm });
      const noting = noteSteps(place, []);
      const world = await filledWorld(context, count, async (step) => {
        const { ms } = await noting.step(step, () =>
          play(player, { prefix: `grow${step.end}`, count: step.count }),
        );
        context.log(`${step.end} are written: the last ${step.count} took ${ms.toFixed(1)} ms each`);
      });
      if (noting.noted.time.length === 0)
        throw new Error('failed to measure growth: another bench of this run has already filled the world');
      return { world, beside: noting.noted };
    },
    { isLarge: true },
  );

const textOf = (line: Line) => line.map(([n, ms]) => `${n}: ${ms.toFixed(1)} ms`).join(', ');

const textOfEach = (lines: ReadonlyMap<string, Line>) =>
  [...lines].map(([name, line]) => `${name} ${textOf(line)}`).join('; ');

export const bench: Bench = {
  name: 'growth',
  what: `Time of a deployment while their number grows to {n}, switched off, in steps to 2, 20, 40 … 100 % over 16 connections. Each step ends when all its deployments are settled. The first deployments (${100 * WARM_SHARE} %, at least ${MIN_WARM}) do not count. increase: the difference between the last and the second step. growth: their ratio. processor growth: the ratio of the processor time of all roles. growth by the clock: the ratio of the times without the floor; Kubernetes alone makes it grow. memory: the maximum of the resident memory. Listener and operator run behind a proxy.`,
  floor:
    'The same writes in the same steps, by the program of converge, with the same watches. It shows how much longer Kubernetes itself takes. It fills a Kubernetes of its own, each step before the same step of Berth, while the other one is idle.',
  n: DEPLOYMENTS,
  goalsFrom: 5000,
  runs: 1,
  warmedUp: true,
  startIsMeasured: true,
  besideMany: true,
  measures: [
    { name: 'first step', unit: 'ms/deployment' },
    { name: 'second step', unit: 'ms/deployment' },
    { name: 'last step', unit: 'ms/deployment' },
    // Not the ratio of both growths. This ratio would be smaller if Berth took more time from the start.
    { name: 'increase', unit: 'ms/deployment', goal: { of: 'ratio', is: 'at most', limit: LIMIT } },
    { name: 'growth', unit: 'times' },
    { name: 'growth by the clock', unit: 'times', goal: { of: 'value', is: 'at most', limit: LIMIT } },
    { name: 'processor growth', unit: 'times', goal: { of: 'value', is: 'at most', limit: LIMIT } },
    ...ROLES.map((role) => ({
      name: `${role} memory`,
      unit: 'MiB',
      goal: MEMORY_GOAL,
    })),
  ],
  start: async (context) => {
    const recording = await recordingOf(context, 'growth', (name) => body(name, 0));
    const count = context.n ?? DEPLOYMENTS;
    const { world, beside } = await fillBoth(context, recording, count);
    const { growth, berth } = world;
    const ours = async (): Promise<Sample> => ({
      ...measured(growth.time),
      'growth by the clock': growthOf(growth.time),
      'processor growth': growthOf(growth.processor),
      ...Object.fromEntries(
        [...growth.memory].map(([role, values]) => [`${role} memory`, values.at(-1) ?? Number.NaN]),
      ),
    });
    const floor = async (): Promise<Sample> => measured(beside.time);
    const memory = [...growth.memory].map(
      ([role, values]) => `${role} ${values.map((mib) => mib.toFixed(0)).join(', ')} MiB`,
    );
    return {
      ours,
      floor,
      notes: () => [
        `By the number of deployments at a step's end: ${textOf(growth.time)}; the same writes: ${textOf(beside.time)}; processor of Berth: ${textOf(growth.processor)}, of each role: ${textOfEach(growth.processorOf)}.`,
        `Processor of Kubernetes: ${textOf(growth.kubernetes)}; of the same writes: ${textOf(beside.kubernetes)}. Processors at rest: ${shares(growth.rest)}; ${shares(beside.rest)}.`,
        `Processor of each process of Kubernetes: ${textOfEach(growth.kubernetesOf)}; of the same writes: ${textOfEach(beside.kubernetesOf)}.`,
        `Maximum memory until the end of each step: ${memory.join('; ')}.`,
        berth.note,
      ],
    };
  },
};
