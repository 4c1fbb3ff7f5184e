/**
 * Runs buildkitd with runc on this machine. Clients reach it by a unix socket in a temporary folder.
 *
 * It runs in separate mount and pid namespaces, so its overlay mounts are invisible to other processes. The watchdog ends
 * everything (daemon, runc and the processes of RUN steps) by killing the process that created the namespaces. The network
 * is not isolated: a RUN step can reach everything on this machine, including loopback, where the registries and git servers
 * of tests listen. Build only trusted code with it.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { BinariesMissingError } from '../binaries.ts';
import { assertRunning, runningPid, startProcess, startWatchdog, stopProcess } from '../processes.ts';
import { waitFor } from '../wait.ts';
import { removeCgroups, removeOrphanedCgroups } from './cgroups.ts';
import { resolveImageTools, resolveRunc } from './tools.ts';

/** Access to a registry. By default, registries on loopback use plain HTTP, and others TLS with the CAs of this machine. */
export interface RegistryAccess {
  /** `127.0.0.1:port`. */
  host: string;
  /** Whether it uses plain HTTP. Default: false. */
  http?: boolean;
  /** CA certificates, PEM. */
  ca?: string;
}

export interface BuildkitOptions {
  registries?: readonly RegistryAccess[];
  /** Cache size in megabytes that a cleanup keeps, and that causes a cleanup. Default: 2,000 and 4,000. */
  cache?: { keepMb: number; limitMb: number };
  /** Maximum number of parallel build steps. Default: unlimited. */
  parallel?: number;
  log?: (line: string) => void;
}

export interface LocalBuildkit {
  /** Value for `buildctl --addr`: `unix:///…`. */
  readonly address: string;
  readonly buildctlPath: string;
  readonly stateDir: string;
  /** Runs buildctl. Returns its standard output. */
  buildctl(args: readonly string[], options?: BuildctlOptions): Promise<string>;
  /** Stops the daemon and its processes. The cache stays. `SIGKILL` simulates a crash. */
  halt(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Starts the daemon again with the same cache, and waits until it is ready. @param registries replace the previous ones */
  start(registries?: readonly RegistryAccess[]): Promise<void>;
  /** Stops the daemon, and removes its state. */
  stop(): Promise<void>;
}

export interface BuildctlOptions {
  /** Additional variables. `DOCKER_CONFIG` names the folder with the credentials of registries. */
  env?: Record<string, string>;
  signal?: AbortSignal;
}

const NAME = 'buildkitd';
const STATE_PREFIX = 'berth-buildkit-';

/**
 * Starts BuildKit, and waits until it is ready. It stops when this process ends.
 * @throws BinariesMissingError if it cannot run: it needs Linux, root, unshare and the programs of `tools.ts`
 */
export async function startBuildkit(options: BuildkitOptions = {}): Promise<LocalBuildkit> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    throw new BinariesMissingError('Image builds need Linux and root, because BuildKit mounts file systems.');
  }
  const [tools, runc] = [
    await resolveImageTools(['buildkitd', 'buildctl'], { log: options.log }),
    await resolveRunc({ log: options.log }),
  ];
  const parent = realpathSync(tmpdir());
  removeOrphanedCgroups(STATE_PREFIX, parent);
  const stateDir = mkdtempSync(join(parent, STATE_PREFIX));
  const watchdog = startWatchdog(stateDir, { removeState: true });
  const address = `unix://${join(stateDir, 'buildkitd.sock')}`;
  const buildctl = (args: readonly string[], { env, signal }: BuildctlOptions = {}) =>
    runBuildctl(tools.buildctl, ['--addr', address, ...args], { env, signal });
  let registries = options.registries ?? [];
  const buildkit: LocalBuildkit = {
    address,
    buildctlPath: tools.buildctl,
    stateDir,
    buildctl,
    halt: (signal = 'SIGTERM') => halt(stateDir, signal),
    start: async (others) => {
      registries = others ?? registries;
      const config = writeConfig(stateDir, address, writeRunc(stateDir, runc), { ...options, registries });
      await startDaemon(stateDir, tools.buildkitd, runc, config);
      await waitFor('BuildKit', async () => (await buildctl(['debug', 'workers'])) !== '', {
        timeoutMs: 60_000,
        giveUpIf: () => assertRunning(stateDir, [NAME]),
      });
    },
    stop: async () => {
      await halt(stateDir, 'SIGTERM');
      watchdog.release();
      rmSync(stateDir, { recursive: true, force: true });
      removeCgroups(cgroupOf(stateDir));
    },
  };
  try {
    await buildkit.start();
    return buildkit;
  } catch (error) {
    await buildkit.stop();
    throw error;
  }
}

/** A separate cgroup for each daemon, so that leftovers of a crash can be recognized. */
function cgroupOf(stateDir: string): string {
  return stateDir.slice(stateDir.lastIndexOf('/') + 1);
}

async function startDaemon(stateDir: string, buildkitd: string, runc: string, config: string): Promise<void> {
  const namespaces = [
    '--mount',
    '--propagation',
    'private',
    '--pid',
    '--fork',
    '--mount-proc',
    '--kill-child',
  ];
  const env = {
    ...process.env,
    PATH: [dirname(runc), process.env['PATH']].join(delimiter),
    TMPDIR: stateDir,
  } as Record<string, string>;
  await startProcess(stateDir, {
    name: NAME,
    command: 'unshare',
    args: [...namespaces, '--', buildkitd, '--config', config],
    env,
  });
}

/** A script that runs runc, because BuildKit has no setting for runc's state folder (by default /run/runc). */
function writeRunc(stateDir: string, runc: string): string {
  const path = join(stateDir, 'runc.sh');
  writeFileSync(path, `#!/bin/sh\nexec '${runc}' --root '${join(stateDir, 'runc')}' "$@"\n`, { mode: 0o755 });
  return path;
}

/** Strings, numbers and lists of strings have the same form in TOML and JSON. */
function writeConfig(
  stateDir: string,
  address: string,
  runc: string,
  { registries = [], cache = { keepMb: 2000, limitMb: 4000 }, parallel = 0 }: BuildkitOptions,
): string {
  const text = JSON.stringify;
  const lines = [
    `root = ${text(join(stateDir, 'root'))}`,
    '[grpc]',
    `address = [${text(address)}]`,
    '[otel]',
    `socketPath = ${text(join(stateDir, 'otel.sock'))}`,
    '[history]',
    'maxEntries = 20',
    '[worker.containerd]',
    'enabled = false',
    '[worker.oci]',
    'enabled = true',
    `binary = ${text(runc)}`,
    'networkMode = "host"',
    `defaultCgroupParent = ${text(cgroupOf(stateDir))}`,
    `max-parallelism = ${parallel}`,
    'gc = true',
    `reservedSpace = "${cache.keepMb}MB"`,
    `maxUsedSpace = "${cache.limitMb}MB"`,
    ...registries.flatMap(({ host, http, ca }, index) => {
      const file = join(stateDir, `registry-${index}.pem`);
      if (ca) writeFileSync(file, ca);
      const trust = ca ? [`ca = [${text(file)}]`] : [];
      return [`[registry.${text(host)}]`, `http = ${http ?? false}`, ...trust];
    }),
  ];
  const path = join(stateDir, 'buildkitd.toml');
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
}

/** The recorded process is `unshare`, which forwards no signals. The daemon is its only child. */
async function halt(stateDir: string, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  const pid = runningPid(stateDir, NAME);
  if (pid !== undefined && signal === 'SIGTERM') {
    const [daemon] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    try {
      if (daemon) process.kill(Number(daemon), signal);
      const gone = async () => runningPid(stateDir, NAME) === undefined;
      await waitFor('the end of BuildKit', gone, { timeoutMs: 10_000 });
    } catch {
      // It has ended already, or does not end in time. Then it is killed.
    }
  }
  await stopProcess(stateDir, NAME, { signal: 'SIGKILL' });
}

function runBuildctl(command: string, args: readonly string[], options: BuildctlOptions): Promise<string> {
  const env = { ...process.env, ...options.env };
  return new Promise((resolve, reject) => {
    execFile(command, args, { env, signal: options.signal, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      if (error) reject(new Error(`failed to run buildctl: ${stderr.trim() || error.message}`));
      else resolve(stdout);
    });
  });
}
