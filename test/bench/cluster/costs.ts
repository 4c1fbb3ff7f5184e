/** What a round of many deployments takes of the processors, and whom. */
import { cpus } from 'node:os';
import { startOrder } from '../../cluster/layout.ts';
import type { Measure, Sample } from '../bench.ts';
import { withAsked } from './asked.ts';
import { type BenchRole, type ClusterBerth, ROLES } from './berth.ts';

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
  ...startOrder.map((name) => ({ name: `of it ${name}`, unit: 'ms/deployment' })),
  { name: 'processors at rest', unit: '%' },
];

/** Processor time that nothing used since the machine started, of all processors, in ms. */
export const idleMs = () => cpus().reduce((sum, { times }) => sum + times.idle, 0);

/** Processor time until now, in seconds, by the measure that it is for. */
function spentBy(berth: ClusterBerth, roles: readonly BenchRole[]): Sample {
  const components = [...berth.cpuOfKubernetes()];
  const kubernetes = components.reduce((sum, [, seconds]) => sum + seconds, 0);
  return {
    'kubernetes processor': kubernetes,
    ...Object.fromEntries(components.map(([name, seconds]) => [`of it ${name}`, seconds])),
    ...Object.fromEntries(roles.map((role) => [`${role} processor`, berth.cpuOf(role)])),
  };
}

/**
 * What a round of so many deployments takes: processor time of Kubernetes and of the roles that run, and the share of all
 * processors that had nothing to do.
 */
export async function withCosts<T>(
  { berth, count, roles }: { berth: ClusterBerth; count: number; roles: readonly BenchRole[] },
  round: () => Promise<T>,
): Promise<{ result: T; costs: Sample }> {
  const before = spentBy(berth, roles);
  const [idle, began] = [idleMs(), performance.now()];
  const result = await round();
  const whole = (performance.now() - began) * cpus().length;
  const rest = ((idleMs() - idle) / whole) * PERCENT;
  const spent = Object.entries(spentBy(berth, roles)).map(([name, seconds]) => [
    name,
    ((seconds - (before[name] ?? 0)) * MS) / count,
  ]);
  return { result, costs: { 'processors at rest': rest, ...Object.fromEntries(spent) } };
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
