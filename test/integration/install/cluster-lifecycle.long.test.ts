/** The local cluster itself: its start, faults and end. Uses clusters of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { resolveBinaries } from '../../cluster/binaries.ts';
import {
  attachCluster,
  FEW_COLLECTIONS,
  type LocalCluster,
  startCluster,
  stopCluster,
} from '../../cluster/cluster.ts';
import { clusterHealth } from '../../cluster/health.ts';
import { kubectl } from '../../cluster/kubectl.ts';
import { readRecord, startOrder } from '../../cluster/layout.ts';
import { isPortTaken } from '../../cluster/ports.ts';
import { assertRunning, runningPid, startProcess } from '../../cluster/processes.ts';
import { waitFor } from '../../cluster/wait.ts';

const silent = { ...FEW_COLLECTIONS, log: () => {}, fsync: false };

async function health(stateDir: string) {
  const record = readRecord(stateDir);
  return record ? clusterHealth(stateDir, record) : [];
}

describe('a cluster', () => {
  let own: LocalCluster;
  beforeAll(async () => {
    own = await startCluster(silent);
  });
  afterAll(() => own.stop());

  test('runs next to another cluster, with all components healthy', async () => {
    const components = await health(own.stateDir);
    expect(components.map(({ name, healthy }) => [name, healthy])).toEqual(
      startOrder.map((name) => [name, true]),
    );
  });

  test('keeps its objects when its API server crashes and restarts', async () => {
    await kubectl(own, ['create', 'configmap', 'kept']);
    await own.stopApiServer('SIGKILL');
    await expect(kubectl(own, ['get', 'configmap', 'kept'])).rejects.toThrow(/refused/);
    const down = (await health(own.stateDir)).filter(({ healthy }) => !healthy);
    expect(down.map(({ name }) => name)).toContain('kube-apiserver');
    await own.startApiServer();
    expect(await kubectl(own, ['get', 'configmap', 'kept', '--output=name'])).toBe('configmap/kept\n');
    await kubectl(own, ['create', 'deployment', 'after', '--image=registry.test/app:1']);
    await kubectl(own, ['wait', 'deployment/after', '--for=condition=Available', '--timeout=60s']);
  });

  test('can be controlled with only its state folder', async () => {
    const attached = attachCluster(own.stateDir);
    expect(attached?.server).toBe(own.server);
    await attached?.restartApiServer();
    await kubectl(own, ['get', 'nodes']);
  });
});

describe('the cleanup', () => {
  /** A process that starts something and then only waits, as a test run does that gets killed. */
  async function startElsewhere(
    module: string,
    call: string,
  ): Promise<{ child: ChildProcess; stateDir: string }> {
    const script = `import { ${call} } from ${JSON.stringify(join(process.cwd(), 'test/cluster', module))};
const { stateDir } = await ${call}({ log: () => {}, fsync: false });
console.log(stateDir);
setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    const stateDir = await new Promise<string>((resolve) => {
      child.stdout?.once('data', (chunk: Buffer) => resolve(chunk.toString().trim()));
    });
    return { child, stateDir };
  }

  test.each([
    ['the cluster', 'cluster.ts', 'startCluster', startOrder],
    ['PostgreSQL', 'postgres.ts', 'startPostgres', ['postgres']],
  ] as const)(
    'stops %s when the process that started it is killed with SIGKILL',
    async (_, module, call, names) => {
      const { child, stateDir } = await startElsewhere(module, call);
      const pids = names.map((name) => runningPid(stateDir, name));
      expect(pids).not.toContain(undefined);
      child.kill('SIGKILL');
      await waitFor('the processes and their state to be gone', async () => !existsSync(stateDir), {
        timeoutMs: 30_000,
      });
      expect(names.map((name) => runningPid(stateDir, name))).toEqual(names.map(() => undefined));
    },
  );

  test('removes the remains of a broken cluster when a new one starts in its folder', async () => {
    const parent = mkdtempSync(join(tmpdir(), 'berth-remains-'));
    onTestFinished(() => rmSync(parent, { recursive: true }));
    const stateDir = join(parent, 'state');
    const broken = await startCluster({ ...silent, stateDir, detached: true });
    await kubectl(broken, ['create', 'configmap', 'old']);
    process.kill(runningPid(broken.stateDir, 'kube-apiserver') ?? 0, 'SIGKILL');
    const fresh = await startCluster({ ...silent, stateDir });
    expect(await kubectl(fresh, ['get', 'configmap', 'old', '--ignore-not-found'])).toBe('');
    expect(await stopCluster(stateDir)).toBe(true);
    expect(existsSync(stateDir)).toBe(false);
    expect(await stopCluster(stateDir)).toBe(false);
    // Two clusters are started, on a machine that others use as well.
  }, 300_000);
});

test('reports a component that cannot start with the end of its log', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'berth-taken-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true }));
  const taken: Server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void taken.close());
  await new Promise((resolve) => taken.once('listening', resolve));
  const { port } = taken.address() as { port: number };
  const { etcd } = await resolveBinaries();
  const args = [
    `--data-dir=${stateDir}/etcd`,
    `--listen-client-urls=http://127.0.0.1:${port}`,
    `--advertise-client-urls=http://127.0.0.1:${port}`,
  ];
  await startProcess(stateDir, {
    name: 'etcd',
    command: etcd,
    args: [...args, '--listen-peer-urls=http://127.0.0.1:0'],
  });
  const waiting = waitFor('etcd', async () => false, {
    timeoutMs: 30_000,
    giveUpIf: () => assertRunning(stateDir, ['etcd']),
  });
  await expect(waiting).rejects.toSatisfy((error: { log: string }) => isPortTaken(error.log));
});
