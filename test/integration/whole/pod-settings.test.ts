import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeClient } from '../../../src/cluster/kube/client/client.ts';
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
  operator = await startOperator({ ...world.settings, config: RENDERING });
});
afterAll(async () => {
  await operator.stop();
  await client.close();
  await world.end();
});

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
      failureThreshold: 30,
    });
    expect(after?.containers[0]?.securityContext).not.toHaveProperty('capabilities');
    expect(after?.affinity?.nodeAffinity).toBeDefined();
    await app.apply(plain);
    await app.ready();
    expect(await template(app)).toEqual(before);
  });

  test.each([
    ['selector', { placement: { nodeSelector: { 'example.com/none': 'x' } } }, /node affinity\/selector/],
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
