/** The optional pod settings of source_config: sent, stored, merged, previewed and shown only if they are set. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { POD_SETTINGS, type PodSettings } from '../../../../src/domain/pod-settings/pod-settings.ts';
import { fullPodSettings } from '../../../arbitraries/pod-settings.ts';
import {
  type ApiFixture,
  type Client,
  create,
  createBody,
  type Deployment,
  type Issue,
  startApi,
  uniqueName,
} from '../../harness/api.ts';

interface DryRun extends Deployment {
  changes: { field: string; before: unknown; after: unknown }[];
  new_revision: boolean;
  pods_roll: boolean;
  effects: string[];
}

let api: ApiFixture;
let client: Client;
beforeAll(async () => {
  api = await startApi();
  client = await api.tenant();
});
afterAll(() => api.stop());

const read = async (id: string) => (await client.call<Deployment>('GET', `/v2/deployments/${id}`)).body;
const patch = (id: string, source_config: object, query = '') =>
  client.call<DryRun>('PATCH', `/v2/deployments/${id}${query}`, { source_config });
/** The settings that a response contains. */
const settingsOf = ({ source_config }: Deployment) =>
  Object.fromEntries(
    Object.entries(source_config).filter(([field]) => (POD_SETTINGS as string[]).includes(field)),
  );

describe.each(POD_SETTINGS)('source_config.%s', (field) => {
  const sent: PodSettings = { [field]: fullPodSettings[field] };

  test('is absent from responses when it is absent or null', async () => {
    const made = await create(client, { source_config: { [field]: null } });
    expect(settingsOf(made)).toEqual({});
    expect(settingsOf(await read(made.id))).toEqual({});
    expect((await patch(made.id, { [field]: null })).body.generation).toBe(made.generation);
  });

  test('round-trips in POST and PATCH, and is cleared by null', async () => {
    const made = await create(client, { source_config: sent });
    expect(settingsOf(await read(made.id))).toEqual(sent);
    const other = await create(client);
    const changed = await patch(other.id, sent);
    expect(changed.status, JSON.stringify(changed.body)).toBe(200);
    expect(settingsOf(changed.body)).toEqual(sent);
    // The same again, a response that is sent back, and another field change nothing of it.
    expect((await patch(other.id, sent)).body.generation).toBe(changed.body.generation);
    const { source_config } = await read(other.id);
    expect((await patch(other.id, source_config)).body.generation).toBe(changed.body.generation);
    expect(settingsOf((await patch(other.id, { resource_spec: { cpu: 1 } })).body)).toEqual(sent);
    const cleared = await patch(other.id, { [field]: null });
    expect(settingsOf(cleared.body)).toEqual({});
  });

  test('is cleared by a PUT that does not contain it', async () => {
    const name = uniqueName();
    const { name: _, ...body } = createBody({ source_config: sent }) as { name: string };
    const put = (more: object) =>
      client.call<Deployment>('PUT', `/v2/deployments/by-name/${name}`, { ...body, ...more });
    const first = await put({});
    expect(first.status, JSON.stringify(first.body)).toBe(201);
    expect(settingsOf(first.body)).toEqual(sent);
    expect((await put({})).body.generation).toBe(first.body.generation);
    expect(settingsOf((await put({ source_config: {} })).body)).toEqual({});
  });

  test('creates no revision, and the dry run lists the change and that pods roll', async () => {
    const made = await create(client, { source_config: {} });
    const dry = await patch(made.id, sent, '?dry_run=true');
    expect(dry.status, JSON.stringify(dry.body)).toBe(200);
    expect(dry.body).toMatchObject({ new_revision: false, pods_roll: true });
    expect(dry.body.changes.length).toBeGreaterThan(0);
    for (const change of dry.body.changes) {
      expect(change.field).toMatch(new RegExp(`^source_config\\.${field}(?:\\.|$)`));
      expect(change.before).toBeNull();
    }
    expect((await read(made.id)).generation).toBe(made.generation);
    const changed = await patch(made.id, sent);
    expect(changed.body.latest_revision_id).toBe(made.latest_revision_id);
  });
});

test.each<[string, object, string]>([
  ['security_profile', { security_profile: 'privileged' }, 'security_profile'],
  ['type', { health_checks: { api: { type: 'grpc' } } }, 'health_checks.api.type'],
  ['command', { health_checks: { queue: { type: 'exec' } } }, 'health_checks.queue.command'],
  ['resource', { gpu: { api: { resource: 'cpu', count: 1 } } }, 'gpu.api.resource'],
  [
    'toleration',
    { placement: { api: { tolerations: [{ value: 'b' }] } } },
    'placement.api.tolerations.0.operator',
  ],
  ['port', { health_checks: { api: { type: 'exec', command: ['a'], port: 1 } } }, 'health_checks.api.port'],
])('a request with an invalid %s gets a 422 that names the field', async (_what, source_config, path) => {
  const answer = await client.call<{ detail: Issue[] }>(
    'POST',
    '/v2/deployments',
    createBody({ source_config }),
  );
  expect(answer.status, JSON.stringify(answer.body)).toBe(422);
  expect(answer.body.detail.map(({ loc }) => loc.slice(1).join('.'))).toEqual([`source_config.${path}`]);
});

test('a PATCH replaces the check of the components that it contains', async () => {
  const api = { type: 'http', path: '/a', port: 9000 };
  const made = await create(client, { source_config: { health_checks: { api, queue: { type: 'tcp' } } } });
  const one = await patch(made.id, { health_checks: { api: { type: 'http' } } }, '?dry_run=true');
  expect(one.body.changes).toEqual([
    { field: 'source_config.health_checks.api', before: api, after: { type: 'http' } },
  ]);
  const cleared = await patch(made.id, { health_checks: { queue: null } });
  expect(settingsOf(cleared.body)).toEqual({ health_checks: { api } });
  expect(settingsOf((await patch(made.id, { health_checks: { api: null } })).body)).toEqual({});
});

test('a check of a component that does not exist replaces no pods', async () => {
  const made = await create(client);
  const dry = await patch(made.id, { health_checks: { queue: { type: 'tcp' } } }, '?dry_run=true');
  expect(dry.body).toMatchObject({
    pods_roll: false,
    changes: [{ field: 'source_config.health_checks.queue' }],
  });
});

test('a toleration that the policy does not list gets a 400 that names the entry', async () => {
  const tolerations = [{ key: 'node-role.kubernetes.io/control-plane', operator: 'Exists' }];
  const body = createBody({ source_config: { placement: { api: { tolerations } } } });
  const answer = await client.call<{ detail: Issue[] }>('POST', '/v2/deployments', body);
  expect(answer).toMatchObject({
    status: 400,
    body: {
      detail: [
        { loc: ['body', 'source_config', 'placement', 'api', 'tolerations', 0], type: 'policy_placement' },
      ],
    },
  });
});

describe('the quota of GPUs', () => {
  interface Usage {
    quotas: { gpus?: number };
    usage: { gpus?: number };
  }
  const usageOf = async (of: Client) => (await of.call<Usage>('GET', '/v2/usage')).body;
  const gpu = (count: number) => ({ gpu: { api: { resource: 'nvidia.com/gpu', count } } });

  test('counts GPUs, rejects a change above it, and is absent from responses without GPUs', async () => {
    const tenant = await api.tenant();
    const before = await usageOf(tenant);
    expect(before.usage).not.toHaveProperty('gpus');
    expect(before.quotas).not.toHaveProperty('gpus');
    const admin = await api.client(null, ['admin']);
    const set = await admin.call('PATCH', `/v2/tenants/${tenant.tenantId}`, { quotas: { gpus: 3 } });
    expect(set.status, JSON.stringify(set.body)).toBe(200);
    const made = await create(tenant, { source_config: gpu(2) });
    expect(await usageOf(tenant)).toMatchObject({ quotas: { gpus: 3 }, usage: { gpus: 2 } });
    const more = await tenant.call<{ detail: Issue[] }>(
      'POST',
      '/v2/deployments',
      createBody({ source_config: gpu(2) }),
    );
    expect(more.status).toBe(400);
    expect(more.body.detail).toMatchObject([
      { loc: ['body', 'source_config', 'gpu', 'api'], type: 'quota_gpus' },
    ]);
    // The version before devices keeps the number that it does not know, when it changes a deployment.
    await api.store.sql(
      `UPDATE deployments SET generation = generation + 1,
        source_config = jsonb_set(source_config, '{gpu,api,count}', '1') WHERE id = $1`,
      [made.id],
    );
    expect((await usageOf(tenant)).usage.gpus).toBe(1);
    await api.store.sql(
      'UPDATE deployments SET quota_gpus = NULL, quota_gpus_generation = NULL WHERE id = $1',
      [made.id],
    );
    expect((await usageOf(tenant)).usage.gpus).toBe(1);
    const off = await tenant.call('PATCH', `/v2/deployments/${made.id}`, { source_config: { gpu: null } });
    expect(off.status).toBe(200);
    expect((await usageOf(tenant)).usage.gpus).toBe(0);
    await tenant.call('DELETE', `/v2/deployments/${made.id}`);
    const { length } = await api.store.sql(
      'SELECT 1 FROM deployments WHERE id = $1 AND quota_gpus_generation = generation',
      [made.id],
    );
    expect(length, 'a deletion keeps the measurement').toBe(1);
  });
});

describe('in cloud mode', () => {
  let cloud: ApiFixture;
  let tenant: Client;
  beforeAll(async () => {
    cloud = await startApi({ hosting: 'cloud' });
    tenant = await cloud.tenant();
  });
  afterAll(() => cloud.stop());

  test.each<[string, object, string]>([
    ['the profile baseline', { security_profile: 'baseline' }, 'security_profile'],
    [
      'a node selector',
      { placement: { api: { node_selector: { disk: 'ssd' } } } },
      'placement.api.node_selector.disk',
    ],
    ['a GPU', { gpu: { api: { resource: 'nvidia.com/gpu', count: 1 } } }, 'gpu.api.resource'],
    ['an affinity', { placement: { api: { affinity: {} } } }, 'placement.api.affinity'],
    [
      'a check every second',
      { health_checks: { api: { type: 'tcp', period_seconds: 1 } } },
      'health_checks.api.period_seconds',
    ],
  ])('%s gets a 400 that names the field', async (_what, source_config, path) => {
    const body = createBody({ source: 'internal_image', source_config });
    const answer = await tenant.call<{ detail: Issue[] }>('POST', '/v2/deployments', body);
    expect(answer.status, JSON.stringify(answer.body)).toBe(400);
    expect(answer.body.detail.map(({ loc }) => loc.slice(1).join('.'))).toEqual([`source_config.${path}`]);
  });

  test('the profile restricted is accepted', async () => {
    const made = await create(tenant, {
      source: 'internal_image',
      source_config: { security_profile: 'restricted' },
    });
    expect(made.source_config).toMatchObject({ security_profile: 'restricted' });
  });
});
