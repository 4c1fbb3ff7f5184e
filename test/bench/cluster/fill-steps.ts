/** Creates many deployments step by step, to measure how the cost of one deployment grows with their number. */
import { startOrder } from '../../cluster/layout.ts';
import { type BenchRole, type ClusterBerth, ROLES } from './berth.ts';
import { withCosts } from './costs.ts';
import { fill } from './fill.ts';
import type { World } from './sides.ts';

/** The ends of the steps as shares of all deployments: with 5,000 these are 100, 1,000, 2,000 … */
const ENDS = [0.02, 0.2, 0.4, 0.6, 0.8, 1];
/** Share of the deployments that are created before the first step, because the warm-up of processes is not growth. */
export const WARM_SHARE = 0.04;
export const MIN_WARM = 20;

/** Pairs of the number of deployments at the end of a step, and a value of the step. */
export type Line = readonly (readonly [number, number])[];

/** The costs of steps, with Berth or with the floor. */
export interface Steps {
  /** Milliseconds per deployment. */
  readonly time: Line;
  /** Processor time of Kubernetes, in milliseconds per deployment. */
  readonly kubernetes: Line;
  /** The same for each process of Kubernetes. */
  readonly kubernetesOf: ReadonlyMap<string, Line>;
  /** Share of idle processors, in percent. */
  readonly rest: Line;
}

/** The costs of steps with Berth. */
export interface Growth extends Steps {
  /** Processor time of all roles, in milliseconds per deployment. */
  readonly processor: Line;
  /** The same for each role. */
  readonly processorOf: ReadonlyMap<BenchRole, Line>;
  /** Maximum resident memory of each role until the end of each step, in MiB. */
  readonly memory: ReadonlyMap<BenchRole, readonly number[]>;
}

/** A step that creates `count` deployments, so that there are `end`. */
export interface FillStep {
  readonly end: number;
  readonly count: number;
}

/** The steps, and the number of deployments for the warm-up. */
export function stepsOf(count: number): { warm: number; steps: FillStep[] } {
  const warm = Math.max(MIN_WARM, Math.round(count * WARM_SHARE));
  const ends = ENDS.map((share) => Math.max(1, Math.round(count * share)));
  const steps = ends.map((end, index) => ({ end: warm + end, count: end - (ends[index - 1] ?? 0) }));
  return { warm, steps: steps.filter((step) => step.count > 0) };
}

/** Records the costs of steps. */
export function noteSteps(berth: ClusterBerth, roles: readonly BenchRole[]) {
  const time: [number, number][] = [];
  const kubernetes: [number, number][] = [];
  const kubernetesOf = new Map<string, [number, number][]>(startOrder.map((name) => [name, []]));
  const rest: [number, number][] = [];
  return {
    noted: { time, kubernetes, kubernetesOf, rest } satisfies Steps,
    /** Runs a step. Returns its costs by measure (`costs.ts`), and the time per deployment in ms. */
    async step({ end, count }: FillStep, task: () => Promise<unknown>) {
      const began = performance.now();
      const { costs } = await withCosts({ berth, count, roles }, task);
      const ms = (performance.now() - began) / count;
      time.push([end, ms]);
      kubernetes.push([end, costs['kubernetes processor'] ?? 0]);
      for (const [name, line] of kubernetesOf) line.push([end, costs[`of it ${name}`] ?? 0]);
      rest.push([end, costs['processors at rest'] ?? 0]);
      return { costs, ms };
    },
  };
}

/**
 * Creates `count` deployments that are switched off, after some for the warm-up.
 * @param beforeStep awaited before each step, so that a floor can run its step first
 */
export async function fillInSteps(
  { berth, apps, load }: World,
  count: number,
  log: (line: string) => void,
  beforeStep: (step: FillStep) => Promise<void>,
): Promise<Growth> {
  const { warm, steps } = stepsOf(count);
  const processorOf = new Map<BenchRole, [number, number][]>(ROLES.map((role) => [role, []]));
  const memory = new Map<BenchRole, number[]>(ROLES.map((role) => [role, []]));
  const some = (prefix: string, number: number) =>
    fill(berth, apps, load, { count: number, prefix, objects: 1, log });
  await some('warm-', warm);
  const { noted, step } = noteSteps(berth, ROLES);
  for (const { end, count: number } of steps) {
    await beforeStep({ end, count: number });
    const { costs, ms } = await step({ end, count: number }, () => some(`filled-${end}-`, number));
    for (const role of ROLES) processorOf.get(role)?.push([end, costs[`${role} processor`] ?? 0]);
    for (const role of ROLES) memory.get(role)?.push(costs[`${role} memory`] ?? Number.NaN);
    // Recorded requests are not needed any more, and use memory.
    berth.proxy.clear();
    log(`${end} deployments: the last ${number} took ${ms.toFixed(1)} ms each`);
  }
  const lines = [...processorOf.values()];
  const processor = noted.time.map(
    ([end], index) => [end, lines.reduce((sum, line) => sum + (line[index]?.[1] ?? 0), 0)] as const,
  );
  return { ...noted, processor, processorOf, memory };
}
