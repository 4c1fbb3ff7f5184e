/** What a round of many deployments takes of the processors, and whom. */
import { cpus } from 'node:os';
import type { Measure, Sample } from '../bench.ts';
import { type ClusterBerth, ROLES } from './berth.ts';

const MS = 1000;
const PERCENT = 100;

/** Of each role of Berth. */
export const ROLE_COSTS: readonly Measure[] = ROLES.map((role) => ({
  name: `${role} processor`,
  unit: 'ms/deployment',
}));

/** Of what the round shares the machine with, so that waiting can be told from working. */
export const MACHINE_COSTS: readonly Measure[] = [
  { name: 'kubernetes processor', unit: 'ms/deployment' },
  { name: 'processors at rest', unit: '%' },
];

/** Processor time that nothing used since the machine started, of all processors, in ms. */
const idleMs = () => cpus().reduce((sum, { times }) => sum + times.idle, 0);

/** Processor time of Kubernetes for a round of so many deployments, and the share of all processors that had nothing to do. */
export async function withMachineCosts<T>(
  berth: ClusterBerth,
  count: number,
  round: () => Promise<T>,
): Promise<{ result: T; costs: Sample }> {
  const [before, idle, began] = [berth.cpuOfKubernetes(), idleMs(), performance.now()];
  const result = await round();
  const whole = (performance.now() - began) * cpus().length;
  return {
    result,
    costs: {
      'kubernetes processor': ((berth.cpuOfKubernetes() - before) * MS) / count,
      'processors at rest': ((idleMs() - idle) / whole) * PERCENT,
    },
  };
}

/** Processor time of each role for a round of so many deployments. */
export async function withRoleCosts<T>(
  berth: ClusterBerth,
  count: number,
  round: () => Promise<T>,
): Promise<{ result: T; costs: Sample }> {
  const before = ROLES.map((role) => berth.cpuOf(role));
  const result = await round();
  const costs = ROLES.map((role, index) => [
    `${role} processor`,
    ((berth.cpuOf(role) - (before[index] ?? 0)) * MS) / count,
  ]);
  return { result, costs: Object.fromEntries(costs) };
}
