/** The processor time that a round of many deployments costs, by process. */
import { cpus } from 'node:os';
import { startOrder } from '../../cluster/layout.ts';
import type { Measure, Sample } from '../bench.ts';
import { processUsage, unusedProcessors } from '../process-usage.ts';
import { withAsked } from './asked.ts';
import { type BenchRole, type ClusterBerth, ROLES } from './berth.ts';

const MS = 1000;
const PERCENT = 100;

const DATABASE = 'postgresql processor';

/** Costs of each role of Berth and of its database. Memory is the maximum of the resident memory until the end of the round. */
export const ROLE_COSTS: readonly Measure[] = [
  ...ROLES.map((role) => ({ name: `${role} processor`, unit: 'ms/deployment' })),
  ...ROLES.map((role) => ({ name: `${role} memory`, unit: 'MiB' })),
  { name: DATABASE, unit: 'ms/deployment' },
];

/** Costs of the other processes of the machine, which show whether a round works or waits. */
export const MACHINE_COSTS: readonly Measure[] = [
  { name: 'kubernetes processor', unit: 'ms/deployment' },
  ...startOrder.map((name) => ({ name: `of it ${name}`, unit: 'ms/deployment' })),
  { name: 'processors at rest', unit: '%' },
  { name: 'processors stolen', unit: '%' },
];

/** The processor times at a moment. */
export interface MachineSnapshot {
  /** In ms, by a monotonic clock. */
  readonly at: number;
  /** Idle time of all processors since the start of the machine, and time that the host gave to others, in ms. */
  readonly idle: number;
  readonly stolen: number;
  /** Processor time until now in seconds, by measure. */
  readonly spent: Sample;
}

/** Reads the processor times. @throws Error if one of the roles does not run */
export function takeSnapshot(berth: ClusterBerth, roles: readonly BenchRole[]): MachineSnapshot {
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

/** The processor time in seconds between two snapshots, by measure, and the shares of idle and stolen time in percent. */
export function betweenSnapshots(
  first: MachineSnapshot,
  last: MachineSnapshot,
): { spent: Record<string, number>; rest: number; stolen: number } {
  // At least 1 ms, to avoid a division by zero.
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
 * The costs of a round with this number of deployments: processor time of Kubernetes and of the running roles, their memory,
 * and the share of idle processors.
 */
export async function withCosts<T>(
  { berth, count, roles }: { berth: ClusterBerth; count: number; roles: readonly BenchRole[] },
  round: () => Promise<T>,
): Promise<{ result: T; costs: Sample }> {
  const before = takeSnapshot(berth, roles);
  const database = berth.cpuOfPostgres();
  const result = await round();
  const { spent, rest, stolen } = betweenSnapshots(before, takeSnapshot(berth, roles));
  // Without Berth, PostgreSQL is not used.
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

/** As `withCosts`, including the requests to the API server. */
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
