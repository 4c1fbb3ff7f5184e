/** A role says that it is ready when it can work: not when its process runs, not before its preflight. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePorts } from '../../cluster/ports.ts';
import { waitFor } from '../../cluster/wait.ts';
import { compileCache } from '../../installation/berth-process.ts';
import { installBerth, roleKubeconfigs } from '../../installation/install.ts';
import { createNamespace, deleteNamespace, environment } from '../harness/environment.ts';
import { Link } from '../harness/link.ts';

const main = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));
let folder: string;
let namespace: string;
let kubeconfigs: { listener: string; operator: string };
const running: ChildProcess[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-ready-'));
  await installBerth(environment());
  namespace = await createNamespace('ready');
  kubeconfigs = await roleKubeconfigs(environment(), folder);
});
afterAll(async () => {
  for (const child of running) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  await deleteNamespace(namespace);
  rmSync(folder, { recursive: true });
});

/** Runs a role; `readyz` asks its probe, `log` is what it has said. */
async function run(role: string, settings: Record<string, string>) {
  const [port = 0] = await freePorts(1);
  const env = { ...compileCache(), PATH: process.env['PATH'], BERTH_METRICS_PORT: `${port}`, ...settings };
  const child = spawn(process.execPath, [main, role], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  running.push(child);
  let log = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (log += chunk));
  const readyz = async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
    return `${answer.status} ${await answer.text()}`;
  };
  return { child, log: () => log, readyz };
}

/** A kubeconfig that leads to the API server through a link. */
async function linked(kubeconfig: string): Promise<{ link: Link; path: string }> {
  const config = JSON.parse(readFileSync(kubeconfig, 'utf8')) as {
    clusters: { cluster: { server: string } }[];
  };
  const [first] = config.clusters;
  if (first === undefined) throw new Error('failed to read the kubeconfig: it names no cluster');
  const link = new Link(Number(new URL(first.cluster.server).port));
  await link.start();
  first.cluster.server = `https://127.0.0.1:${link.port}`;
  const path = join(folder, `${link.port}.kubeconfig`);
  writeFileSync(path, JSON.stringify(config));
  return { link, path };
}

it('never reports an operator as ready if its preflight fails', async () => {
  // The listener's account may not do an operator's work.
  const operator = await run('operator', { KUBECONFIG: kubeconfigs.listener });
  // Not 'exit': what it has said last may come after that.
  const [code] = await once(operator.child, 'close');
  expect(code).toBe(1);
  expect(operator.log()).toContain('may not');
  expect(operator.log()).toContain('"msg":"started"');
  expect(operator.log()).not.toContain('berth is ready');
});

it('reports an operator as ready only while its API server responds', async () => {
  const { link, path } = await linked(kubeconfigs.operator);
  link.cut();
  // Of its own namespace alone: once it leads it would take up what other files have in theirs.
  const operator = await run('operator', {
    KUBECONFIG: path,
    BERTH_NAMESPACE: 'berth-system',
    BERTH_NAMESPACES: namespace,
  });
  await waitFor('the probe to answer', async () => (await operator.readyz()).startsWith('503 the operator'), {
    timeoutMs: 30_000,
  });
  expect(operator.log()).not.toContain('berth is ready');
  link.open();
  await waitFor('the operator to be ready', async () => (await operator.readyz()).startsWith('200'), {
    timeoutMs: 60_000,
  });
  await waitFor('the log to say so', async () => operator.log().includes('berth is ready'), {
    timeoutMs: 60_000,
  });
  link.cut();
  await waitFor('the probe to tell', async () => (await operator.readyz()).startsWith('503'), {
    timeoutMs: 60_000,
  });
  await link.stop();
});

it('reports a listener that cannot reach its hub as not ready, with the reason', async () => {
  const [port = 0] = await freePorts(1);
  const listener = await run('listener', {
    KUBECONFIG: kubeconfigs.listener,
    BERTH_HUB_URL: `http://127.0.0.1:${port}`,
    BERTH_LISTENER_KEY: 'k'.repeat(64),
  });
  const reason = await waitFor(
    'the reason',
    async () => {
      const answer = await listener.readyz();
      return answer.includes('ECONNREFUSED') && answer;
    },
    { timeoutMs: 30_000 },
  );
  expect(reason).toMatch(/^503 failed to take the lease/);
  expect(listener.log()).not.toContain('berth is ready');
  expect(listener.log()).not.toContain('kkkk');
});
