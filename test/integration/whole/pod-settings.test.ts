import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeClient } from '../../../src/cluster/kube/client/client.ts';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import { resolvePolicy } from '../../../src/domain/policy/policy.ts';
import {
  type OperatorWorld,
  operatorWorld,
  RENDERING,
  type RunningOperator,
  startOperator,
} from '../harness/operator.ts';
import { App, adminClient, appSpec } from '../harness/rollouts.ts';

/** Pod settings that change in place, with the real API server and the real scheduler. */

let world: OperatorWorld;
let operator: RunningOperator;
let client: KubeClient;

beforeAll(async () => {
  world = await operatorWorld('settings');
  client = await adminClient();
  const policy = resolvePolicy('self_hosted', { placement: { tolerations: ['sim.example/reserved'] } });
  operator = await startOperator({ ...world.settings, config: RENDERING, policy });
});
afterAll(async () => {
  await operator.stop();
  await client.close();
  await world.end();
});

/** Labels of a node with a taint (test/cluster/manifests/nodes.yaml). */
const RESERVED = { 'sim.example/pool': 'reserved' };
const IMAGE = 'registry.test/web:1';
const plain = appSpec(1, IMAGE);
const withApi = (api: object, podTemplate: object = {}) => ({ ...plain, components: { api }, podTemplate });

/** The pod template of the component api, without the hash of the template. */
async function template(app: App): Promise<V1PodTemplateSpec['spec']> {
  const workload = (await app.workloads())[`${app.name}-api`];
  return (workload?.template as V1PodTemplateSpec | undefined)?.spec;
}

/** Waits until the condition Progressing or Ready contains the text. */
const reported = (app: App, text: RegExp) =>
  app.until(String(text), ({ conditions = [] }) => conditions.some(({ message = '' }) => text.test(message)));

describe.concurrent('a change of pod settings', () => {
  test('replaces the pods of the revision, and its removal restores them', async () => {
    const app = new App(client, world.namespace, 'shop');
    await app.apply(plain);
    await app.ready();
    const before = await template(app);
    await app.apply(
      withApi(
        {
          healthCheck: { type: 'http', path: '/healthz', startupSeconds: 60 },
          placement: {
            affinity: {
              nodeAffinity: {
                preferredDuringSchedulingIgnoredDuringExecution: [
                  { weight: 1, preference: { matchExpressions: [{ key: 'disk', operator: 'Exists' }] } },
                ],
              },
            },
          },
        },
        { securityProfile: 'baseline' },
      ),
    );
    await app.ready();
    const after = await template(app);
    expect(after?.containers[0]?.startupProbe).toMatchObject({
      httpGet: { path: '/healthz' },
      periodSeconds: 5,
      failureThreshold: 12,
    });
    expect(after?.containers[0]?.securityContext).not.toHaveProperty('capabilities');
    expect(after?.affinity?.nodeAffinity).toBeDefined();
    await app.apply(plain);
    await app.ready();
    expect(await template(app)).toEqual(before);
  });

  test.each([
    ['selector', { placement: { nodeSelector: { 'example.com/none': 'x' } } }, /node affinity\/selector/],
    ['taint', { placement: { nodeSelector: RESERVED } }, /untolerated taint/],
    ['gpu', { gpu: { resource: 'nvidia.com/gpu', count: 1 } }, /Insufficient nvidia\.com\/gpu/],
  ])('that no node meets is reported with the answer of the scheduler: %s', async (name, api, text) => {
    const app = new App(client, world.namespace, name);
    await app.apply(plain);
    await app.ready();
    await app.apply(withApi(api));
    await reported(app, text);
    await app.apply(plain);
    await app.ready();
  });

  test('runs pods on a reserved node when they tolerate its taint, with the devices that they request', async () => {
    const app = new App(client, world.namespace, 'reserved');
    const toleration = { key: 'sim.example/reserved', operator: 'Exists', effect: 'NoSchedule' };
    const placement = { nodeSelector: RESERVED, tolerations: [toleration] };
    await app.apply(withApi({ placement, gpu: { resource: 'sim.example/device', count: 1 } }));
    await app.ready();
    const pods = await app.list(RESOURCES.Pod, 'app.kubernetes.io/component=api');
    expect(pods.map(({ spec }) => (spec as { nodeName?: string }).nodeName)).toEqual(['node-reserved']);
  });

  test('is rejected by the API server when a value is out of range or unknown', async () => {
    const wrong = new App(client, world.namespace, 'wrong');
    for (const api of [
      { healthCheck: { type: 'grpc' } },
      { healthCheck: { type: 'http', path: 'healthz' } },
      { gpu: { resource: 'nvidia.com/gpu', count: 0 } },
      { placement: { tolerations: [{ key: 'a', effect: 'Never' }] } },
      { laterSetting: {} },
    ])
      await expect(wrong.apply(withApi(api)), JSON.stringify(api)).rejects.toThrow(/components\.api/);
  });

  test('is rejected by the operator when the policy does not allow it', async () => {
    const app = new App(client, world.namespace, 'tolerating');
    await app.apply(withApi({ placement: { tolerations: [{ operator: 'Exists' }] } }));
    await reported(app, /spec\.components\.api\.placement\.tolerations\[0\]/);
    expect(await app.workloads()).toEqual({});
  });
});
