import type { V1Container, V1PodTemplateSpec } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { KubeClient } from '../../../src/cluster/kube/client/client.ts';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import {
  type OperatorWorld,
  operatorWorld,
  RENDERING,
  type RunningOperator,
  startOperator,
} from '../harness/operator.ts';
import { App, adminClient, appSpec } from '../harness/rollouts.ts';

/** An ordinary image with port, commands and variables, from one revision to the next, on a real API server. */

let world: OperatorWorld;
let operator: RunningOperator;
let client: KubeClient;

beforeAll(async () => {
  world = await operatorWorld('run');
  client = await adminClient();
  const config = { ...RENDERING, networkIsolation: true };
  operator = await startOperator({ ...world.settings, config, patience: { imagePullMs: 2_000 } });
});
afterAll(async () => {
  await operator.stop();
  await client.close();
  await world.end();
});

const IMAGE = 'registry.test/web:1';
const BAD = 'registry.test/web:fail-image-pull';
const SETTINGS = {
  port: 80,
  commands: {
    api: { args: ['--port', '$(PORT)'] },
    queue: { command: ['/bin/sh', '-c'], args: ['exec work'] },
  },
  env: [
    { name: 'URL', value: '$(DATABASE_URI)' },
    { name: 'EMPTY', value: '' },
  ],
};
const queue = { byCommand: true };

const plain = (number: number, image = IMAGE) => appSpec(number, image);
const ordinary = (number: number, image = IMAGE) => ({
  ...plain(number, image),
  components: { api: {}, queue },
  podTemplate: SETTINGS,
});

/** The app containers in the cluster by the name of their Deployment. */
async function containers(app: App): Promise<Record<string, V1Container | undefined>> {
  const workloads = await app.workloads();
  return Object.fromEntries(
    ['api', 'queue'].map((component) => {
      const template = workloads[`${app.name}-${component}`]?.template as V1PodTemplateSpec | undefined;
      return [component, template?.spec?.containers.find(({ name }) => name === 'app')];
    }),
  );
}

async function openPorts(app: App): Promise<number[]> {
  const policies = await app.list(RESOURCES.NetworkPolicy);
  const own = policies.find(({ metadata }) => metadata.name === app.name);
  const { ingress } = (own?.['spec'] ?? { ingress: [] }) as { ingress: { ports?: { port: number }[] }[] };
  return ingress.flatMap(({ ports = [] }) => ports.map(({ port }) => port));
}

/** Waits until only one port is open: the former one closes after a rollout. */
const opens = (app: App, port: number) =>
  vi.waitFor(async () => expect(await openPorts(app)).toEqual([port]), { timeout: 20_000 });

describe.concurrent('a revision with run settings', () => {
  test('replaces one without, is restored after a failure of the next one, and is rolled back as a whole', async () => {
    const shop = new App(client, world.namespace, 'shop');
    await shop.apply(plain(1));
    await shop.ready();
    await opens(shop, 8000);

    await shop.apply(ordinary(2));
    await shop.ready();
    const { api, queue: worker } = await containers(shop);
    expect(api).toMatchObject({
      args: SETTINGS.commands.api.args,
      ports: [{ name: 'http', containerPort: 80 }],
    });
    expect(api?.env).toEqual(expect.arrayContaining([{ name: 'PORT', value: '80' }, SETTINGS.env[0]]));
    expect(worker).toMatchObject(SETTINGS.commands.queue);
    await opens(shop, 80);

    await shop.apply(plain(3, BAD));
    await shop.rolledBack();
    expect(await containers(shop)).toEqual({ api, queue: worker });
    await opens(shop, 80);

    await shop.apply(plain(4));
    await shop.ready();
    const after = await containers(shop);
    expect(after['queue']).toBeUndefined();
    expect(after['api']).not.toHaveProperty('args');
    await opens(shop, 8000);
  });

  test('is rejected by the API server when a setting is out of range or unknown', async () => {
    const wrong = new App(client, world.namespace, 'wrong');
    for (const podTemplate of [
      { port: 0 },
      { port: 65_536 },
      { commands: { web: {} } },
      { env: [{ name: '1A', value: '' }] },
      { laterSetting: true },
    ])
      await expect(wrong.apply({ ...plain(1), podTemplate }), JSON.stringify(podTemplate)).rejects.toThrow(
        /podTemplate/,
      );
  });

  test('is rejected by the operator when a variable is reserved or occurs twice', async () => {
    const A = { name: 'A', value: '' };
    for (const [name, env] of [
      ['reserved', [{ name: 'PORT', value: '1' }]],
      ['twice', [A, A]],
    ] as const) {
      const app = new App(client, world.namespace, name);
      await app.apply({ ...plain(1), podTemplate: { env } });
      const status = await app.until('rejected', ({ conditions = [] }) =>
        conditions.some(({ type, reason }) => type === 'Ready' && reason === 'Refused'),
      );
      expect(JSON.stringify(status.conditions)).toContain('spec.podTemplate.env');
      expect(await app.workloads()).toEqual({});
    }
  });
});
