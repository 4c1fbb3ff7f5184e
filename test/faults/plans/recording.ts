/**
 * Checks that the recording has every effect of the workloads, because the kill plans cover only recorded effects.
 */
import { type Effect, effectName } from '../effects.ts';
import type { FaultPlan, Given, Violation, Workload } from '../plan.ts';
import { inEveryRun, type Recording, runForEffects, unrecorded } from '../record.ts';
import { WORKLOADS, workloadNamed } from '../workloads.ts';
import type { FaultWorld } from '../world.ts';

const RUNS = 3;

/** Deletes the deployment of a run, so that its name is free for the next run. */
async function cleared(world: FaultWorld, given: Given): Promise<void> {
  if ((await world.call('GET', `/v2/deployments/${given.id}`)).status === 404) return;
  const { run, end } = workloadNamed('delete');
  await end(world, await run(world, given));
}

/** The effects as text, grouped by call, with their occurrences: `listener post reports 3, 4`. */
function grouped(effects: readonly Effect[]): string {
  const times = new Map<string, Set<number>>();
  for (const { role, what, occurrence } of effects) {
    const name = `${role} ${what}`;
    times.set(name, (times.get(name) ?? new Set()).add(occurrence));
  }
  const lines = [...times].map(([name, of]) => `${name} ${[...of].sort((a, b) => a - b).join(', ')}`);
  return lines.sort().join('; ');
}

/** The effects that occurred, and those of them without a kill plan: they vary, or belong to repeated observations. */
export function recordingFigure(
  recording: Recording,
  workload: string,
  runs: readonly (readonly Effect[])[],
): string {
  const killedAt = new Set((recording[workload] ?? []).map(effectName));
  const others = runs.flat().filter((effect) => !killedAt.has(effectName(effect)));
  const summary = `${workload}: ${inEveryRun(runs).length} effects in each of ${runs.length} runs`;
  return others.length === 0
    ? `${summary}, and kill plans for all effects that occurred`
    : `${summary}; occurred without a kill plan: ${grouped(others)}`;
}

function recordingPlan(recording: Recording, workload: Workload): FaultPlan {
  const { name } = workload;
  return {
    name: `kill/recording/${name}`,
    says: `${name}: ${RUNS} runs without a fault: each effect that occurs in every run has kill plans (--record).`,
    deadlineSeconds: 300,
    run: async (world, addFigure): Promise<Violation[]> => {
      const runs: Effect[][] = [];
      for (let run = 0; run < RUNS; run += 1) {
        // Work after a start, or after the deletion of the previous run (an inventory), does not belong to this run.
        await world.quiet();
        const { effects, now } = await runForEffects(world, workload);
        runs.push(effects);
        await cleared(world, now);
      }
      const found = inEveryRun(runs);
      addFigure(recordingFigure(recording, name, runs));
      const lacking = unrecorded(recording, name, found).map(effectName);
      if (lacking.length === 0) return [];
      const message = `not in the recording: ${lacking[0]}; record again: npm run faults -- --record ${name}`;
      return [{ oracle: 'plan', message, diff: lacking }];
    },
  };
}

/** One plan for each workload. */
export const recordingPlans = (recording: Recording): FaultPlan[] =>
  WORKLOADS.map((workload) => recordingPlan(recording, workload));
