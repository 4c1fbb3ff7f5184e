/** Many deployments, step by step: what one of them takes while there are more and more. */
import { startOrder } from '../../cluster/layout.ts';
import { type BenchRole, type ClusterBerth, ROLES } from './berth.ts';
import { withCosts } from './costs.ts';
import { fill } from './fill.ts';
import type { World } from './sides.ts';

/** Where a step ends, of all: at 5,000 deployments, 100, 1,000, 2,000 … */
const ENDS = [0.02, 0.2, 0.4, 0.6, 0.8, 1];
/** Of all, before the first step: what a process learns with its first deployments is no growth. */
export const WARM_SHARE = 0.04;
export const LEAST_WARM = 20;

/** By how many deployments there were at a step's end, a value of the step. */
export type Line = readonly (readonly [number, number])[];

/** What steps take, whoever writes. */
export interface Steps {
  /** Milliseconds a deployment. */
  readonly time: Line;
  /** Processor time of Kubernetes, in milliseconds a deployment. */
  readonly kubernetes: Line;
  /** The same of each of its processes. */
  readonly kubernetesOf: ReadonlyMap<string, Line>;
  /** Share of all processors that had nothing to do, in percent. */
  readonly rest: Line;
}

export interface Growth extends Steps {
  /** Processor time of all roles, in milliseconds a deployment. */
  readonly processor: Line;
  /** The same of each role. */
  readonly processorOf: ReadonlyMap<BenchRole, Line>;
  /** Of each role the most that was ever resident until a step's end, in MiB. */
  readonly memory: ReadonlyMap<BenchRole, readonly number[]>;
}

/** So many more, until there are `end`. */
export interface FillStep {
  readonly end: number;
  readonly count: number;
}

/** @returns where steps end, after so many that do not count */
export function stepsOf(count: number): { warm: number; steps: FillStep[] } {
  const warm = Math.max(LEAST_WARM, Math.round(count * WARM_SHARE));
  const ends = ENDS.map((share) => Math.max(1, Math.round(count * share)));
  const steps = ends.map((end, index) => ({ end: warm + end, count: end - (ends[index - 1] ?? 0) }));
  return { warm, steps: steps.filter((step) => step.count > 0) };
}

/** Notes what steps take. */
export function noteSteps(berth: ClusterBerth, roles: readonly BenchRole[]) {
  const time: [number, number][] = [];
  const kubernetes: [number, number][] = [];
  const kubernetesOf = new Map<string, [number, number][]>(startOrder.map((name) => [name, []]));
  const rest: [number, number][] = [];
  return {
    noted: { time, kubernetes, kubernetesOf, rest } satisfies Steps,
    /** @returns what it costs, by measure (`costs.ts`), and what a deployment takes of the time in ms */
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
 * Creates so many deployments, switched off, and some more before them.
 * @param beforeStep ends before a step begins: of a floor that takes turns
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
    // What was asked until now is of no more use, and takes memory.
    berth.proxy.clear();
    log(`${end} deployments: the last ${number} took ${ms.toFixed(1)} ms each`);
  }
  const lines = [...processorOf.values()];
  const processor = noted.time.map(
    ([end], index) => [end, lines.reduce((sum, line) => sum + (line[index]?.[1] ?? 0), 0)] as const,
  );
  return { ...noted, processor, processorOf, memory };
}
