/** What a round of many deployments takes of the processors, and whom. */
import { cpus } from 'node:os';
import { startOrder } from '../../cluster/layout.ts';
import type { Measure, Sample } from '../bench.ts';
import { processUsage, unusedProcessors } from '../process-usage.ts';
import { withAsked } from './asked.ts';
import { type BenchRole, type ClusterBerth, ROLES } from './berth.ts';

const MS = 1000;
const PERCENT = 100;

const DATABASE = 'postgresql processor';

/** Of each role of Berth, and of its database. Memory is the most that was ever resident, until the end of the round. */
export const ROLE_COSTS: readonly Measure[] = [
  ...ROLES.map((role) => ({ name: `${role} processor`, unit: 'ms/deployment' })),
  ...ROLES.map((role) => ({ name: `${role} memory`, unit: 'MiB' })),
  { name: DATABASE, unit: 'ms/deployment' },
];

/** Of what the round shares the machine with, so that waiting can be told from working. */
export const MACHINE_COSTS: readonly Measure[] = [
  { name: 'kubernetes processor', unit: 'ms/deployment' },
  ...startOrder.map((name) => ({ name: `of it ${name}`, unit: 'ms/deployment' })),
  { name: 'processors at rest', unit: '%' },
  { name: 'processors stolen', unit: '%' },
];

/** What had been taken of the processors at a moment. */
export interface MachineLook {
  /** In ms, by a clock that only goes forward. */
  readonly at: number;
  /** Processor time that nothing used since the machine started, of all processors, in ms; and that the host gave to others. */
  readonly idle: number;
  readonly stolen: number;
  /** Processor time until now, in seconds, by the measure that it is for. */
  readonly spent: Sample;
}

/** @throws Error when one of the roles does not run */
export function lookAtMachine(berth: ClusterBerth, roles: readonly BenchRole[]): MachineLook {
  const components = [...berth.cpuOfKubernetes()];
  const kubernetes = components.reduce((sum, [, seconds]) => sum + seconds, 0);
  return {
    at: performance.now(),
    ...unusedProcessors(),
    spent: {
      'kubernetes processor': kubernetes,
      ...Object.fromEntries(components.map(([name, seconds]) => [`of it ${name}`, seconds])),
      ...Object.fromEntries(roles.map((role) => [`${role} processor`, berth.cpuOf(role)])),
    },
  };
}

/** Between two looks: processor time in seconds, by measure, and what share of all processors had nothing to do, or was not there. */
export function betweenLooks(
  first: MachineLook,
  last: MachineLook,
): { spent: Record<string, number>; rest: number; stolen: number } {
  // Of nothing at all no share is told.
  const whole = Math.max(1, last.at - first.at) * cpus().length;
  const spent = Object.entries(last.spent).map(([name, seconds]) => [
    name,
    seconds - (first.spent[name] ?? 0),
  ]);
  const share = (ms: number) => (ms / whole) * PERCENT;
  return {
    spent: Object.fromEntries(spent),
    rest: share(last.idle - first.idle),
    stolen: share(last.stolen - first.stolen),
  };
}

/**
 * What a round of so many deployments takes: processor time of Kubernetes and of the roles that run, their memory, and the
 * share of all processors that had nothing to do.
 */
export async function withCosts<T>(
  { berth, count, roles }: { berth: ClusterBerth; count: number; roles: readonly BenchRole[] },
  round: () => Promise<T>,
): Promise<{ result: T; costs: Sample }> {
  const before = lookAtMachine(berth, roles);
  const database = berth.cpuOfPostgres();
  const result = await round();
  const { spent, rest, stolen } = betweenLooks(before, lookAtMachine(berth, roles));
  // Without Berth nobody asks it.
  if (roles.length > 0) spent[DATABASE] = berth.cpuOfPostgres() - database;
  const each = Object.entries(spent).map(([name, seconds]) => [name, (seconds * MS) / count]);
  const memory = roles.map((role) => [`${role} memory`, processUsage(berth.pidOf(role)).peakMib]);
  return {
    result,
    costs: {
      'processors at rest': rest,
      'processors stolen': stolen,
      ...Object.fromEntries([...each, ...memory]),
    },
  };
}

/** As `withCosts`, with what the round asks of Kubernetes. */
export async function measured<T>(
  berth: ClusterBerth,
  count: number,
  roles: readonly BenchRole[],
  round: () => Promise<T>,
): Promise<{ result: T; costs: Sample }> {
  const { result: whole, asked } = await withAsked({ access: berth.access, count }, () =>
    withCosts({ berth, count, roles }, round),
  );
  return { result: whole.result, costs: { ...whole.costs, ...asked } };
}
