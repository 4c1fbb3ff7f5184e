/**
 * The facts that a cluster reported: reading the lease without taking it, and rejecting features that the cluster is
 * too old for.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../../../src/config/index.ts';
import {
  type ApiFixture,
  type Client,
  create,
  createBody,
  type Deployment,
  type Issue,
  startApi,
} from '../../harness/api.ts';

let api: ApiFixture;
let client: Client;
beforeAll(async () => {
  api = await startApi();
  client = await api.tenant();
});
afterAll(() => api.stop());

async function newListener(): Promise<string> {
  const body = { compute_id: `cluster-${Math.random()}`, compute_config: { k8s_namespaces: ['team'] } };
  const { status, body: made } = await client.call<{ id: string }>('POST', '/v2/listeners', body);
  expect(status).toBe(201);
  return made.id;
}

/** The listener tells which Kubernetes its cluster is. */
async function tell(listenerId: string, kubernetesVersion: string, more: object = {}) {
  const answer = await client.call<{ epoch: number }>('PUT', `/v2/listeners/${listenerId}/lease`, {
    holder: 'pod-1',
    version: '0.1.0',
    cluster_version: `v${kubernetesVersion}.0`,
    rendering: { ...loadConfig({}).rendering, kubernetesVersion },
    epoch: null,
    ...more,
  });
  expect(answer.status).toBe(200);
  return answer.body.epoch;
}

describe('GET …/lease', () => {
  const readLease = async (id: string, by = client) => await by.call('GET', `/v2/listeners/${id}/lease`);

  it('returns version, holder, epoch, namespaces and rendering, and does not take the lease', async () => {
    const id = await newListener();
    expect((await readLease(id)).body).toEqual({
      hub_version: '0.0.0-test',
      epoch: 0,
      holder: null,
      held: false,
      namespaces: ['team'],
      used_namespaces: [],
      rendering: null,
      cluster_id: null,
    });
    const epoch = await tell(id, '1.36');
    const seen = { holder: 'pod-1', held: true, epoch };
    expect((await readLease(id)).body).toMatchObject({ ...seen, rendering: { kubernetesVersion: '1.36' } });
    expect((await readLease(id)).body).toMatchObject(seen);
    await tell(id, '1.36', { epoch, release: true });
    expect((await readLease(id)).body).toMatchObject({ holder: null, held: false, epoch });
  });

  it('returns the lease only to a key that may run the listener', async () => {
    const id = await newListener();
    const runner = await api.client(client.tenantId, ['listeners:run']);
    const reader = await api.client(client.tenantId, ['deployments:read']);
    const otherTenant = await api.tenant(['listeners:run']);
    const platform = await api.client(null, ['listeners:run']);
    const answers = await Promise.all([runner, reader, otherTenant, platform].map((by) => readLease(id, by)));
    expect(answers.map(({ status }) => status)).toEqual([200, 403, 404, 404]);
  });
});

describe('a field that the cluster is too old for', () => {
  const once = { name: 'once', image: 'registry.example/once:1', restartPolicy: 'Never' };
  const asking = (listenerId: string) =>
    createBody({ source_config: { listener_id: listenerId, resource_spec: { sidecars: [once] } } });
  const refusal = {
    loc: ['body', 'source_config', 'resource_spec', 'sidecars', 0, 'restartPolicy'],
    msg: 'Never needs Kubernetes 1.35 or newer; the cluster has version 1.34',
    type: 'cluster_too_old',
  };

  it.each(['', '?dry_run=true'])('is rejected by POST%s with 400, and nothing is written', async (query) => {
    const id = await newListener();
    await tell(id, '1.34');
    const before = await api.rowCounts();
    const refused = await client.call<{ detail: Issue[] }>('POST', `/v2/deployments${query}`, asking(id));
    expect([refused.status, refused.body.detail]).toEqual([400, [refusal]]);
    expect(await api.rowCounts()).toEqual(before);
  });

  it('is rejected by PATCH with 400, and nothing changes', async () => {
    const listenerId = await newListener();
    await tell(listenerId, '1.34');
    const { id } = await create(client, { source_config: { listener_id: listenerId } });
    const patch = { source_config: { resource_spec: { sidecars: [once] } } };
    const refused = await client.call<{ detail: Issue[] }>('PATCH', `/v2/deployments/${id}`, patch);
    expect([refused.status, refused.body.detail]).toEqual([400, [refusal]]);
    const { body } = await client.call<Deployment>('GET', `/v2/deployments/${id}`);
    expect([body.generation, body.source_config.resource_spec]).toEqual([1, null]);
  });

  it('is rejected in the placement too, by POST and PATCH', async () => {
    const listenerId = await newListener();
    await tell(listenerId, '1.30');
    const required = 'requiredDuringSchedulingIgnoredDuringExecution';
    const near = {
      topologyKey: 'kubernetes.io/hostname',
      labelSelector: {},
      matchLabelKeys: ['pod-template-hash'],
    };
    const placement = { api: { affinity: { podAffinity: { [required]: [near] } } } };
    const loc = ['placement', 'api', 'affinity', 'podAffinity', required, 0, 'matchLabelKeys'];
    const tooOld = {
      loc: ['body', 'source_config', ...loc],
      msg: 'matchLabelKeys needs Kubernetes 1.31 or newer; the cluster has version 1.30',
      type: 'cluster_too_old',
    };
    const config = { listener_id: listenerId };
    const { id } = await create(client, { source_config: config });
    for (const [method, path, body] of [
      ['POST', '/v2/deployments', createBody({ source_config: { ...config, placement } })],
      ['PATCH', `/v2/deployments/${id}`, { source_config: { placement } }],
    ] as const) {
      const refused = await client.call<{ detail: Issue[] }>(method, path, body);
      expect([refused.status, refused.body.detail]).toEqual([400, [tooOld]]);
    }
  });

  it('is accepted while the listener has not reported its cluster, and when the cluster is new enough', async () => {
    const silent = await newListener();
    const current = await newListener();
    await tell(current, '1.35');
    for (const id of [silent, current]) {
      expect((await client.call('POST', '/v2/deployments', asking(id))).status).toBe(201);
    }
  });
});
