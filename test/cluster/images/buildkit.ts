/**
 * A real BuildKit on this machine: buildkitd with runc, reached through a unix socket in a temporary folder.
 *
 * It runs in mount and pid namespaces of its own. So its overlay mounts are seen by nobody else, and all of it (the
 * daemon, runc, every process of a RUN step) ends with one kill of the process that made the namespaces, which the
 * watchdog does when we are gone. Nothing is isolated from the network: a RUN step has the network of this machine,
 * loopback included, and so reaches whatever listens there, as the registries and git servers of the tests do. Build
 * nothing with it that you would not run.
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

/** How to speak with a registry. One not named: over plain HTTP if it is on loopback, else over TLS that this machine's authorities vouch for. */
export interface RegistryAccess {
  /** `127.0.0.1:port`. */
  host: string;
  /** Plain HTTP. Default false. */
  http?: boolean;
  /** Authorities that vouch for it, PEM. */
  ca?: string;
}

export interface BuildkitOptions {
  registries?: readonly RegistryAccess[];
  /** Megabytes of cache that stay through a clean-up, and that cause one. Default 2,000 and 4,000. */
  cache?: { keepMb: number; limitMb: number };
  /** Build steps at a time. Default: as many as there are. */
  parallel?: number;
  log?: (line: string) => void;
}

export interface LocalBuildkit {
  /** `unix:///…`: what `buildctl --addr` takes. */
  readonly address: string;
  readonly buildctlPath: string;
  readonly stateDir: string;
  /** Runs buildctl against it; gives what it prints to standard output. */
  buildctl(args: readonly string[], options?: BuildctlOptions): Promise<string>;
  /** Ends the daemon and all that it runs; its cache stays. `SIGKILL` for a crash. */
  halt(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Starts it again on the same cache, and waits until it takes builds. Other registries may be given. */
  start(registries?: readonly RegistryAccess[]): Promise<void>;
  /** Ends it and removes its state. */
  stop(): Promise<void>;
}

export interface BuildctlOptions {
  /** Added to ours; `DOCKER_CONFIG` names the folder with the passwords of registries. */
  env?: Record<string, string>;
  signal?: AbortSignal;
}

const NAME = 'buildkitd';
const STATE_PREFIX = 'berth-buildkit-';

/**
 * Starts BuildKit and waits until it takes builds; ends with this process, however that ends.
 * @throws BinariesMissingError where it cannot run: needs Linux, root, unshare, and what `tools.ts` names
 */
export async function startBuildkit(options: BuildkitOptions = {}): Promise<LocalBuildkit> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    throw new BinariesMissingError(
      'Building images for real needs Linux and root: BuildKit mounts what it builds.',
    );
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

/** Of its own, so that what a crash leaves can be told from the cgroups of others. */
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

/** runc by way of a script: BuildKit has no setting for where runc keeps its state, which else is /run/runc. */
function writeRunc(stateDir: string, runc: string): string {
  const path = join(stateDir, 'runc.sh');
  writeFileSync(path, `#!/bin/sh\nexec '${runc}' --root '${join(stateDir, 'runc')}' "$@"\n`, { mode: 0o755 });
  return path;
}

/** TOML writes strings, numbers and lists of strings as JSON does. */
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

/** The noted process is `unshare`, which passes no signal on: the daemon is its only child. */
async function halt(stateDir: string, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  const pid = runningPid(stateDir, NAME);
  if (pid !== undefined && signal === 'SIGTERM') {
    const [daemon] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    try {
      if (daemon) process.kill(Number(daemon), signal);
      const gone = async () => runningPid(stateDir, NAME) === undefined;
      await waitFor('the end of BuildKit', gone, { timeoutMs: 10_000 });
    } catch {
      // It has ended already, or takes too long: then it goes the hard way.
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
