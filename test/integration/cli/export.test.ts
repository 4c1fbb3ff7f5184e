import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { KubeClient } from '../../../src/cluster/kube/client/client.ts';
import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { waitFor } from '../../cluster/wait.ts';
import { compileCache, runBerth } from '../../installation/berth-process.ts';
import { smallDeployment, startWholeBerth } from '../harness/berth.ts';
import { environment, kubectlAsAdmin } from '../harness/environment.ts';
import {
  type OperatorWorld,
  operatorWorld,
  type RunningOperator,
  startOperator,
} from '../harness/operator.ts';
import { App, adminClient } from '../harness/rollouts.ts';
import { taskCalls } from '../harness/tasks.ts';

/** `berth export`: what it prints stands without Berth, and taking it over restarts nothing. */

let world: OperatorWorld;
let operator: RunningOperator;
let client: KubeClient;
let folder: string;

beforeAll(async () => {
  world = await operatorWorld('export');
  client = await adminClient();
  operator = await startOperator(world.settings);
  folder = mkdtempSync(join(realpathSync(tmpdir()), 'berth-export-'));
});
afterAll(async () => {
  await operator.stop();
  await client.close();
  rmSync(folder, { recursive: true, force: true });
  await world.end();
});

const main = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));
const berth = (...args: string[]) => exportFrom(world.namespace, ...args);
const exportFrom = (namespace: string, ...args: string[]) =>
  new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    const env = {
      ...compileCache(),
      PATH: process.env['PATH'] ?? '',
      KUBECONFIG: environment().kubeconfigPath,
    };
    const command = [main, 'export', '-n', namespace, ...args];
    execFile(process.execPath, command, { env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });

const SPEC = {
  components: { api: { scale: { min: 2, max: 2 } }, queue: { scale: { min: 1, max: 3 } } },
  podTemplate: { sidecars: [{ name: 'proxy', image: 'registry.test/proxy:1' }] },
  routing: { url: 'https://shop.example.com' },
};
const at = (number: number) => ({
  ...SPEC,
  displayName: 'The shop',
  revision: { number, image: `registry.test/shop:${number}` },
});

/** Everything of it that runs, by what would differ if it had been restarted. */
async function running(): Promise<string[]> {
  const { items } = JSON.parse(await world.kubectl('get', 'pods', '-o', 'json')) as {
    items: UntypedObject[];
  };
  return (
    items
      // One that a former rollout has replaced may still be on its way out.
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => `${metadata.name} ${metadata.uid}`)
      .sort()
  );
}

const templateImage = (object: UntypedObject) =>
  (object['spec'] as { template: { spec: { containers: { image: string }[] } } }).template.spec.containers[0]
    ?.image;

const objectsOf = (stream: string) =>
  parseAllDocuments(stream).map((document) => document.toJS() as UntypedObject);

describe('berth export', () => {
  test('prints the current or an earlier revision, lists the valid choices on an error, and overwrites no folder', async () => {
    const shop = new App(client, world.namespace, 'shop');
    await shop.apply(at(1));
    await shop.ready();
    await shop.apply(at(2));
    await shop.ready();

    const now = await berth('The shop');
    expect(now, now.stderr).toMatchObject({ code: 0 });
    const objects = objectsOf(now.stdout);
    expect(objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`)).toEqual(
      expect.arrayContaining([
        'Deployment/shop-api',
        'Deployment/shop-queue',
        'HorizontalPodAutoscaler/shop-queue',
        'Ingress/shop',
        'PersistentVolumeClaim/shop-db',
        'PodDisruptionBudget/shop-api',
        'Service/shop',
        'Service/shop-db',
        'ServiceAccount/shop',
        'StatefulSet/shop-db',
      ]),
    );
    for (const { metadata, status, kind } of objects) {
      expect(Object.keys(metadata).sort(), kind).toEqual(
        expect.not.arrayContaining(['ownerReferences', 'uid']),
      );
      expect(status).toBeUndefined();
    }
    const replicas = new Map(
      objects
        .filter(({ kind }) => kind === 'Deployment')
        .map(({ metadata, spec }) => [metadata.name, (spec as { replicas?: number }).replicas]),
    );
    // The autoscaler sets the number, so it is not in the manifest.
    expect([replicas.get('shop-api'), replicas.get('shop-queue')]).toEqual([2, undefined]);
    const images = (stream: string) =>
      objectsOf(stream)
        .filter(({ kind }) => kind === 'Deployment')
        .map((object) => `${object.metadata.name} ${templateImage(object)}`)
        .filter((line) => !line.includes('-cache'));
    expect(images(now.stdout)).toEqual(['shop-api registry.test/shop:2', 'shop-queue registry.test/shop:2']);
    const before = await berth('shop', '--revision', '1');
    expect(images(before.stdout)).toEqual([
      'shop-api registry.test/shop:1',
      'shop-queue registry.test/shop:1',
    ]);

    expect(await berth('shop', '--revision', '9')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('the templates of revision 9 are not stored; stored revisions: 1, 2'),
    });
    expect(await berth('nobody')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('kubectl get mdep -A'),
    });
    expect(await berth('shop', '-o', join(folder, 'shop'))).toMatchObject({ code: 0, stdout: '' });
    expect(await berth('shop', '-o', join(folder, 'shop'))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is not empty'),
    });
  });

  test('writes a README whose commands detach the deployment from Berth without a restart and without owners', async () => {
    // As an autoscaler would.
    await world.kubectl('scale', 'deploy/shop-queue', '--replicas=2');
    await world.kubectl('rollout', 'status', 'deploy/shop-queue', '--timeout=60s');
    const before = await running();
    const steps = readFileSync(join(folder, 'shop', 'README.md'), 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('       kubectl '))
      .map((line) => line.trim().split(' ').slice(1));
    expect(steps.map(([verb]) => verb)).toEqual(['-n', 'apply']);
    for (const step of steps) {
      await world.kubectl(...step.map((word) => (word === '.' ? join(folder, 'shop') : word)));
    }
    await waitFor(
      'the garbage collector to take the owners away',
      async () => {
        const { items } = JSON.parse(
          await world.kubectl('get', 'deploy,sts,svc,hpa,pdb,ingress,netpol,sa,pvc', '-o', 'json'),
        ) as { items: UntypedObject[] };
        const owned = items.filter(({ metadata }) => metadata.ownerReferences !== undefined);
        return owned.length === 0 && items.length > 8;
      },
      { timeoutMs: 60_000, intervalMs: 300 },
    );
    expect(await world.names('mdep')).toEqual([]);
    expect(await running()).toEqual(before);
    const diff = await world
      .kubectl('diff', '--server-side', '--force-conflicts', '-k', join(folder, 'shop'))
      .then(
        (text) => text,
        (error: unknown) => String(error),
      );
    expect(diff.trim()).toBe('');
  });
});

test('keeps the workloads after a DELETE with keep_workloads, and the exported manifests restart nothing', async () => {
  const whole = await startWholeBerth('leave');
  try {
    const schedules = [{ name: 'yearly', schedule: '0 0 1 1 *', command: ['clean'] }];
    const body = smallDeployment('blog', {
      secrets: [{ name: 'A', value: '1' }],
      source_config: { schedules },
    });
    const { id } = await whole.create(body);
    await whole.ready(id);
    const tasks = taskCalls(whole, id);
    await tasks.until((await tasks.run('clean')).id, 'SUCCEEDED');
    const kubectl = (...args: string[]) => kubectlAsAdmin(['-n', whole.namespace, ...args]);
    const pods = () => kubectl('get', 'pods', '-o', 'custom-columns=N:.metadata.name,U:.metadata.uid');
    const before = await pods();
    const target = join(folder, 'blog');
    expect(await exportFrom(whole.namespace, id, '-o', target)).toMatchObject({ code: 0 });
    expect(readFileSync(join(target, 'README.md'), 'utf8')).toContain(
      `/v2/deployments/${id}?keep_workloads=true`,
    );
    const files = readdirSync(target).filter((file) => file.endsWith('.yaml'));
    const kinds = files.flatMap(
      (file) => readFileSync(join(target, file), 'utf8').match(/^kind: .*$/gm) ?? [],
    );
    expect(kinds).toContain('kind: CronJob');
    expect(kinds).not.toContain('kind: DeploymentTask');
    expect(kinds).not.toContain('kind: Job');

    const options = [
      '--tenant',
      'test',
      '--name',
      'admin',
      '--scopes',
      'deployments:write,admin',
      '-o',
      'json',
    ];
    const created = await runBerth(whole.stateDir, ['keys', 'create', ...options], whole.settings);
    const { api_key: key } = JSON.parse(created) as { api_key: string };
    const release = async (query: string) => {
      const url = new URL(`/v2/deployments/${id}?keep_workloads=true${query}`, whole.process().url);
      const answer = await fetch(url, { method: 'DELETE', headers: { 'x-api-key': key } });
      const text = await answer.text();
      return { status: answer.status, body: text === '' ? null : JSON.parse(text) };
    };
    const both = await release('&force=true');
    expect(both).toMatchObject({ status: 400, body: { detail: [{ loc: ['query', 'keep_workloads'] }] } });
    expect((await release('')).status).toBe(204);
    await waitFor(
      'the record to be gone',
      async () => (await whole.call('GET', `/v2/deployments/${id}`)).status === 404,
      { timeoutMs: 90_000, intervalMs: 300 },
    );
    expect(await kubectl('get', 'mdep', '-o', 'name')).toBe('');
    const kept = await kubectl(
      'get',
      'pvc,secrets,deploy,sts,cronjob',
      '-l',
      `berth.dev/deployment-id=${id}`,
      '-o',
      'name',
    );
    expect(
      kept
        .trim()
        .split('\n')
        .map((line) => line.split('/')[0]),
    ).toEqual(
      expect.arrayContaining([
        'persistentvolumeclaim',
        'secret',
        'deployment.apps',
        'statefulset.apps',
        'cronjob.batch',
      ]),
    );
    expect(await kubectl('get', 'mtask', '-o', 'name')).toContain('deploymenttask.berth.dev/blog-');
    await kubectl('apply', '--server-side', '--force-conflicts', '-k', target);
    expect(await pods()).toBe(before);
    const owners = await kubectl(
      'get',
      'deploy,sts,cronjob,mtask',
      '-o',
      'jsonpath={.items[*].metadata.ownerReferences}',
    );
    expect(owners).toBe('');
  } finally {
    await whole.stop();
  }
});
