/**
 * A local Kubernetes in the background.
 *
 *   npm run cluster -- up | down | status | env [--help]
 */
import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { attachCluster, startCluster, stopCluster } from '../test/cluster/cluster.ts';
import { type ComponentHealth, clusterHealth } from '../test/cluster/health.ts';
import { readRecord } from '../test/cluster/layout.ts';
import { withLock } from '../test/cluster/lock.ts';

const HELP = `usage: npm run cluster -- up | down | status | env

A real Kubernetes API server, controller manager and scheduler with etcd and four simulated nodes, on 127.0.0.1.
  up       start the cluster in the background; it runs until "down"
  down     stop the cluster and remove its state
  status   health of each component; exit code 1 unless all components are healthy
  env      shell commands that configure kubectl for the cluster:  eval "$(npm run -s cluster -- env)"

Options of up:
  --no-fsync      do not wait for the disk (faster, does not survive a power cut)
  --audit         log every request of a user to <state>/logs/audit.log
Options of all:
  --state <dir>   folder of the cluster's state (default: .berth/cluster); each folder is a separate cluster
  --help

The programs come from KUBEBUILDER_ASSETS or the cache (\${XDG_CACHE_HOME:-~/.cache}/berth/bin). "up" builds missing
programs with Go (5 to 10 minutes, once).`;

interface Options {
  stateDir: string;
  fsync: boolean;
  audit: boolean;
}

const commands: Record<string, (options: Options) => Promise<number>> = { up, down, status, env };

function parse(argv: string[]) {
  return parseArgs({
    args: argv,
    allowPositionals: true,
    options: {
      help: { type: 'boolean', short: 'h' },
      'no-fsync': { type: 'boolean' },
      audit: { type: 'boolean' },
      state: { type: 'string' },
    },
  });
}

function usageError(problem: string): number {
  console.error(`${problem}\n\n${HELP}`);
  return 2;
}

async function main(argv: string[]): Promise<number> {
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(argv);
  } catch (error) {
    return usageError((error as Error).message);
  }
  const { values, positionals } = parsed;
  const [command, ...rest] = positionals;
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const run = command === undefined ? undefined : commands[command];
  if (!run || rest.length > 0) {
    return usageError(
      command === undefined ? 'no command given' : `unknown command: ${positionals.join(' ')}`,
    );
  }
  if (command !== 'up' && (values['no-fsync'] || values.audit))
    return usageError('--no-fsync and --audit are options of up only');
  const wanted = resolve(values.state ?? DEFAULT_STATE);
  return run({
    stateDir: existsSync(wanted) ? realpathSync(wanted) : wanted,
    fsync: !values['no-fsync'],
    audit: values.audit ?? false,
  });
}

/** Runs `action` while no other command changes the same state folder. */
function exclusively(stateDir: string, action: () => Promise<number>): Promise<number> {
  mkdirSync(dirname(stateDir), { recursive: true });
  const onWait = (pid: number) =>
    console.error(`Waiting for process ${pid}, which is changing this cluster …`);
  return withLock(`${stateDir}.lock`, onWait, action);
}

function up({ stateDir, fsync, audit }: Options): Promise<number> {
  return exclusively(stateDir, async () => {
    const health = await healthOf(stateDir);
    if (health?.every(({ healthy }) => healthy)) {
      console.log('The cluster is up already.');
      printHints(stateDir);
      return 0;
    }
    if (health) console.error('The existing cluster has unhealthy components. It is removed first.');
    const started = Date.now();
    await startCluster({ stateDir, fsync, audit, detached: true });
    console.log(`The cluster is up (${((Date.now() - started) / 1000).toFixed(1)} s).`);
    printHints(stateDir);
    return 0;
  });
}

const DEFAULT_STATE = join(dirname(dirname(fileURLToPath(import.meta.url))), '.berth', 'cluster');

/** The --state option that makes another command of this file use the same cluster. Empty for the default folder. */
function stateOption(stateDir: string): string {
  const isDefault = existsSync(DEFAULT_STATE) && realpathSync(DEFAULT_STATE) === stateDir;
  return isDefault || stateDir === DEFAULT_STATE ? '' : ` --state '${stateDir.replaceAll("'", "'\\''")}'`;
}

function printHints(stateDir: string): void {
  const cluster = attachCluster(stateDir);
  if (!cluster) return;
  console.log(`
  KUBECONFIG=${cluster.kubeconfigPath}
  ${cluster.kubectlPath} --kubeconfig ${cluster.kubeconfigPath} get nodes

To use kubectl in this shell:  eval "$(npm run -s cluster -- env${stateOption(stateDir)})"
Logs: ${join(cluster.stateDir, 'logs')}     Stop: npm run cluster -- down${stateOption(stateDir)}`);
}

function down({ stateDir }: Options): Promise<number> {
  return exclusively(stateDir, async () => {
    const stopped = await stopCluster(stateDir);
    console.log(stopped ? 'The cluster is stopped and its state removed.' : 'There is no cluster to stop.');
    return 0;
  });
}

async function status({ stateDir }: Options): Promise<number> {
  const health = await healthOf(stateDir);
  if (!health) {
    console.log(`No cluster. Start one: npm run cluster -- up${stateOption(stateDir)}`);
    return 1;
  }
  for (const { name, pid, message } of health) {
    console.log(`${name.padEnd(24)} ${pid === undefined ? '' : `pid ${pid}`.padEnd(12)} ${message}`);
  }
  const allHealthy = health.every(({ healthy }) => healthy);
  if (!allHealthy)
    console.log(
      `\nLogs: ${join(stateDir, 'logs')}     Start again: npm run cluster -- up${stateOption(stateDir)}`,
    );
  return allHealthy ? 0 : 1;
}

async function healthOf(stateDir: string): Promise<ComponentHealth[] | undefined> {
  const record = readRecord(stateDir);
  return record && clusterHealth(stateDir, record);
}

async function env({ stateDir }: Options): Promise<number> {
  const cluster = attachCluster(stateDir);
  if (!cluster) {
    console.error(`There is no cluster. Start one: npm run cluster -- up${stateOption(stateDir)}`);
    return 1;
  }
  console.log(`export KUBECONFIG=${quote(cluster.kubeconfigPath)}`);
  console.log(`export PATH=${quote(dirname(cluster.kubectlPath))}:"$PATH"`);
  return 0;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
