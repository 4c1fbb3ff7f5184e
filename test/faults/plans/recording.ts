/**
 * Checks that the recording has every effect of the workloads, because the kill plans cover only recorded effects.
 */
import { type Effect, effectName } from '../effects.ts';
import type { FaultPlan, Given, Violation, Workload } from '../plan.ts';
import { metEachTime, type Recording, runForEffects, unrecorded } from '../record.ts';
import { WORKLOADS, workloadNamed } from '../workloads.ts';
import type { FaultWorld } from '../world.ts';

const RUNS = 3;

/** Its name is free for the next run. */
async function cleared(world: FaultWorld, given: Given): Promise<void> {
  if ((await world.call('GET', `/v2/deployments/${given.id}`)).status === 404) return;
  const { run, end } = workloadNamed('delete');
  await end(world, await run(world, given));
}

/** Effects of one call at a time, with the times that are meant: `listener post reports 3, 4`. */
function grouped(effects: readonly Effect[]): string {
  const times = new Map<string, Set<number>>();
  for (const { role, what, occurrence } of effects) {
    const name = `${role} ${what}`;
    times.set(name, (times.get(name) ?? new Set()).add(occurrence));
  }
  const lines = [...times].map(([name, of]) => `${name} ${[...of].sort((a, b) => a - b).join(', ')}`);
  return lines.sort().join('; ');
}

/** What was met, and what of it no plan kills at: it comes by chance, or is told as often as something is seen. */
export function recordingFigure(
  recording: Recording,
  workload: string,
  runs: readonly (readonly Effect[])[],
): string {
  const killedAt = new Set((recording[workload] ?? []).map(effectName));
  const others = runs.flat().filter((effect) => !killedAt.has(effectName(effect)));
  const told = `${workload}: ${metEachTime(runs).length} effects in each of ${runs.length} runs`;
  return others.length === 0
    ? `${told}, and a kill plan for all that was met`
    : `${told}; met and in no kill plan of it: ${grouped(others)}`;
}

function recordingPlan(recording: Recording, workload: Workload): FaultPlan {
  const { name } = workload;
  return {
    name: `kill/recording/${name}`,
    says: `${name}: ${RUNS} runs without a fault: each effect that occurs in every run has kill plans (--record).`,
    deadlineSeconds: 300,
    run: async (world, tell): Promise<Violation[]> => {
      const runs: Effect[][] = [];
      for (let run = 0; run < RUNS; run += 1) {
        // What follows a start, or the deletion of the run before (an inventory), is no effect of this one.
        await world.quiet();
        const { effects, now } = await runForEffects(world, workload);
        runs.push(effects);
        await cleared(world, now);
      }
      const met = metEachTime(runs);
      tell(recordingFigure(recording, name, runs));
      const lacking = unrecorded(recording, name, met).map(effectName);
      if (lacking.length === 0) return [];
      const message = `not in the recording: ${lacking[0]}; record again: npm run faults -- --record ${name}`;
      return [{ oracle: 'plan', message, diff: lacking }];
    },
  };
}

export const recordingPlans = (recording: Recording): FaultPlan[] =>
  WORKLOADS.map((workload) => recordingPlan(recording, workload));
