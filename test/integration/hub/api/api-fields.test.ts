/** Every field of the contract: sent minimal, full and null with POST and with PATCH, and read back. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PLATFORM_LISTENER_ID } from '../../../../src/domain/deployment/source.ts';
import {
  RESOURCE_SPEC_FIELDS,
  type ResourceSpec,
  type ResourceSpecField,
} from '../../../../src/domain/resource-spec/resource-spec.ts';
import { fullResourceSpec } from '../../../arbitraries/full-resource-spec.ts';
import {
  type ApiFixture,
  type Client,
  create,
  createBody,
  type Deployment,
  startApi,
} from '../../harness/api.ts';

type Config = 'source_config' | 'source_revision_config';

interface Field {
  readonly part: Config;
  readonly field: string;
  readonly minimal: unknown;
  readonly full: unknown;
  /** What else must be sent with it. */
  readonly besides?: Record<string, unknown>;
  /** What PATCH does with null. Default: it clears the field. */
  readonly nullKeeps?: true;
  /** PATCH refuses another value. */
  readonly immutable?: true;
  /** No value that a client may send is known yet: 400 of this type. */
  readonly unknown?: string;
  /** The source cannot do without it. */
  readonly required?: true;
}

const long = (length: number) => 'x'.repeat(length);

/** Values at the lower bound of each field, and as much as it takes. */
const SPEC_VALUES: Readonly<Record<ResourceSpecField, readonly [minimal: unknown, full: unknown]>> = {
  min_scale: [0, 1000],
  max_scale: [0, 1000],
  cpu: [0.001, 256],
  cpu_limit: [0.001, 256],
  memory_mb: [1, 4 * 1024 * 1024],
  memory_limit_mb: [1, 4 * 1024 * 1024],
  queue_min_scale: [0, 1000],
  queue_max_scale: [0, 1000],
  queue_cpu: [0.001, 256],
  queue_cpu_limit: [0.001, 256],
  queue_memory_mb: [1, 4 * 1024 * 1024],
  queue_memory_limit_mb: [1, 4 * 1024 * 1024],
  orchestrator_cpu: [1, 256],
  orchestrator_cpu_limit: [1, 256],
  orchestrator_memory_mb: [1, 4 * 1024 * 1024],
  orchestrator_memory_limit_mb: [1, 4 * 1024 * 1024],
  orchestrator_min_scale: [0, 1000],
  orchestrator_max_scale: [0, 1000],
  executor_cpu: [1, 256],
  executor_cpu_limit: [1, 256],
  executor_memory_mb: [1, 4 * 1024 * 1024],
  executor_memory_limit_mb: [1, 4 * 1024 * 1024],
  cache_cpu: [0.001, 256],
  cache_cpu_limit: [0.001, 256],
  cache_memory_mb: [1, 4 * 1024 * 1024],
  db_cpu: [1, 256],
  db_cpu_limit: [1, 256],
  db_memory_mb: [1, 4 * 1024 * 1024],
  db_memory_limit_mb: [1, 4 * 1024 * 1024],
  db_storage_gi: [10, 65_536],
  db_max_connections: [13, 100_000],
  labels: [{}, fullResourceSpec.labels],
  annotations: [{}, fullResourceSpec.annotations],
  service_account_name: ['a', long(253)],
  image_pull_secrets: [[], fullResourceSpec.image_pull_secrets],
  volumes: [[], fullResourceSpec.volumes],
  volume_mounts: [[], fullResourceSpec.volume_mounts],
  init_containers: [[], fullResourceSpec.init_containers],
  sidecars: [[], fullResourceSpec.sidecars],
};

const MOUNTING: ReadonlySet<string> = new Set(['volume_mounts', 'init_containers', 'sidecars']);

const IMAGE_FIELDS: readonly Field[] = [
  { part: 'source_config', field: 'deployment_type', minimal: 'dev_free', full: 'prod', immutable: true },
  { part: 'source_config', field: 'build_on_push', minimal: false, full: false },
  {
    part: 'source_config',
    field: 'custom_url',
    minimal: 'https://a.b',
    full: `https://${long(63)}.${long(63)}.example.com/v1/shop`,
  },
  {
    part: 'source_config',
    field: 'listener_id',
    minimal: PLATFORM_LISTENER_ID,
    full: PLATFORM_LISTENER_ID,
    immutable: true,
  },
  {
    part: 'source_config',
    field: 'listener_config',
    minimal: { cluster_namespace: 'a' },
    full: { cluster_namespace: long(63) },
    immutable: true,
  },
  {
    part: 'source_revision_config',
    field: 'image_uri',
    minimal: 'a',
    full: `registry.example.com:5000/team/shop/web:${long(128)}@sha256:${'0a'.repeat(32)}`,
    required: true,
  },
];

const GIT_FIELDS: readonly Field[] = [
  {
    part: 'source_config',
    field: 'integration_id',
    minimal: '01890000-0000-7000-8000-000000000000',
    full: 'ffffffff-ffff-4fff-bfff-ffffffffffff',
    immutable: true,
    unknown: 'integration_unknown',
  },
  {
    part: 'source_config',
    field: 'repo_url',
    minimal: 'https://a.b/c',
    full: `https://git.example.com:8443/${long(500)}.git`,
    immutable: true,
    required: true,
  },
  { part: 'source_config', field: 'build_on_push', minimal: false, full: true },
  { part: 'source_config', field: 'install_command', minimal: 'a', full: `npm ci\n${long(4000)}` },
  { part: 'source_config', field: 'build_command', minimal: 'a', full: `make\n${long(4000)}` },
  { part: 'source_revision_config', field: 'repo_ref', minimal: 'a', full: `refs/heads/${long(240)}` },
  {
    part: 'source_revision_config',
    field: 'workflow_config_path',
    minimal: 'a',
    full: `apps/shop/${long(1000)}`,
    required: true,
  },
];

const gitBody = {
  source: 'git_host',
  source_config: { repo_url: 'https://git.example.com/shop/web' },
  source_revision_config: { workflow_config_path: 'app.yaml' },
};

/** The same, with a field of one part set. */
function withField(base: Record<string, unknown>, { part, field, besides }: Field, value: unknown) {
  const config = (base[part] ?? {}) as object;
  return { ...base, [part]: { ...config, ...besides, [field]: value } };
}

const read = async (client: Client, id: string) =>
  (await client.call<Deployment>('GET', `/v2/deployments/${id}`)).body;
const shown = (deployment: Deployment, { part, field }: Field) => deployment[part][field];

async function patch(client: Client, id: string, body: unknown) {
  return client.call<Deployment>('PATCH', `/v2/deployments/${id}`, body);
}

/** POST and PATCH of one field with a value, both read back. */
async function roundTrips(client: Client, base: Record<string, unknown>, field: Field, value: unknown) {
  const made = await create(client, withField(base, field, value));
  expect(shown(made, field)).toEqual(value);
  expect(shown(await read(client, made.id), field)).toEqual(value);
  const other = await create(client, field.immutable ? withField(base, field, value) : base);
  const sent = { [field.part]: { [field.field]: value } };
  const changed = await patch(client, other.id, sent);
  expect(changed.status, JSON.stringify(changed.body)).toBe(200);
  expect(shown(changed.body, field)).toEqual(value);
  expect(shown(await read(client, other.id), field)).toEqual(value);
  expect((await patch(client, other.id, sent)).body.generation).toBe(changed.body.generation);
  return other;
}

async function nullIsAbsent(client: Client, base: Record<string, unknown>, field: Field) {
  const answer = await client.call<Deployment>(
    'POST',
    '/v2/deployments',
    createBody(withField(base, field, null)),
  );
  if (field.required) {
    expect(answer.status).toBe(400);
    return;
  }
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  expect(shown(answer.body, field)).toBeNull();
}

async function nullInPatch(client: Client, id: string, field: Field, before: unknown) {
  const answer = await patch(client, id, { [field.part]: { [field.field]: null } });
  if (field.required && !field.immutable) {
    expect(answer.status).toBe(400);
    return;
  }
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  expect(shown(answer.body, field)).toEqual(field.immutable || field.nullKeeps ? before : null);
}

/** POST refuses every value, by the field's name; null in PATCH keeps the field empty. */
async function refusesAll(client: Client, base: Record<string, unknown>, field: Field, values: unknown[]) {
  for (const value of values) {
    const answer = await client.call('POST', '/v2/deployments', createBody(withField(base, field, value)));
    const issue = { loc: ['body', field.part, field.field], type: field.unknown };
    expect(answer).toMatchObject({ status: 400, body: { detail: [issue] } });
  }
  await nullInPatch(client, (await create(client, base)).id, field, null);
}

function fieldTests(fields: readonly Field[], base: Record<string, unknown>, client: () => Client) {
  describe.each(fields)('$part.$field', (field) => {
    test('round-trips its smallest and largest value, or rejects both if it has no valid value', async () => {
      if (field.unknown) return refusesAll(client(), base, field, [field.minimal, field.full]);
      await roundTrips(client(), base, field, field.minimal);
      const deployment = await roundTrips(client(), base, field, field.full);
      await nullInPatch(client(), deployment.id, field, field.full);
    });
    test('is absent when POST sends null', () => nullIsAbsent(client(), base, field));
  });
}

describe('in self_hosted mode', () => {
  let api: ApiFixture;
  let client: Client;
  beforeAll(async () => {
    api = await startApi();
    client = await api.tenant();
  });
  afterAll(() => api.stop());

  fieldTests(
    // One host belongs to one deployment: custom_url is tested below.
    IMAGE_FIELDS.filter(({ field }) => field !== 'custom_url'),
    {},
    () => client,
  );

  test.each(['minimal', 'full'] as const)(
    'source_config.custom_url round-trips its %s value and is then taken for other deployments',
    async (size) => {
      const url = IMAGE_FIELDS.find(({ field }) => field === 'custom_url')?.[size];
      const made = await create(client, { source_config: { custom_url: url } });
      expect((await read(client, made.id)).source_config['custom_url']).toBe(url);
      const cleared = await patch(client, made.id, { source_config: { custom_url: null } });
      expect(cleared.body.source_config['custom_url']).toBeNull();
      const other = await create(client, { source_config: { custom_url: null } });
      const taken = await patch(client, other.id, { source_config: { custom_url: url } });
      expect(taken.body.source_config['custom_url']).toBe(url);
      expect((await patch(client, made.id, { source_config: { custom_url: url } })).status).toBe(409);
    },
  );

  test('every field of the contract has a test here', () => {
    const config = [...IMAGE_FIELDS, ...GIT_FIELDS].map(({ part, field }) => `${part}.${field}`);
    expect(new Set([...config, 'source_config.resource_spec']).size).toBe(10 + 3);
    expect(Object.keys(SPEC_VALUES).sort()).toEqual([...RESOURCE_SPEC_FIELDS].sort());
  });

  test.each([
    ['name minimal', { name: 'x' }],
    ['name full', { name: `Ünï — 🚢 ${'n'.repeat(118)}` }],
    ['no secrets', { secrets: [] }],
    ['an empty secret', { secrets: [{ name: '_', value: '' }] }],
    [
      'large secrets',
      { secrets: [...Array(5).keys()].map((n) => ({ name: `A.b-${n}`, value: `é\n\t${long(120_000)}` })) },
    ],
    [
      'their own data services',
      {
        secrets: [
          { name: 'DATABASE_URI_CUSTOM', value: 'x' },
          { name: 'CACHE_URI_CUSTOM', value: 'y' },
        ],
      },
    ],
  ])('POST stores and GET returns: %s', async (_what, sent) => {
    const made = await create(client, sent);
    expect(await read(client, made.id)).toMatchObject(sent);
  });

  describe.each(RESOURCE_SPEC_FIELDS)('resource_spec.%s', (field) => {
    const besides: ResourceSpec = MOUNTING.has(field) ? { volumes: fullResourceSpec.volumes } : {};
    const body = (value: unknown) => ({ source_config: { resource_spec: { ...besides, [field]: value } } });
    const spec = (deployment: Deployment) => deployment.source_config.resource_spec;

    test.each([0, 1])(
      'round-trips its smallest (0) or largest (1) value in POST and PATCH: %i',
      async (size) => {
        const value = SPEC_VALUES[field][size];
        const made = await create(client, body(value));
        expect(spec(made)?.[field]).toEqual(value);
        expect(spec(await read(client, made.id))).toEqual({
          ...Object.fromEntries(RESOURCE_SPEC_FIELDS.map((name) => [name, null])),
          ...besides,
          [field]: value,
        });
        const other = await create(client);
        const changed = await patch(client, other.id, body(value));
        expect(changed.status, JSON.stringify(changed.body)).toBe(200);
        expect(spec(await read(client, other.id))?.[field]).toEqual(value);
        // Absent keeps; the same again changes nothing.
        const again = await patch(client, other.id, { source_config: { resource_spec: besides } });
        expect(again.body.generation).toBe(changed.body.generation);
        expect(spec(again.body)?.[field]).toEqual(value);
      },
    );

    test('is absent when POST sends null, and null in PATCH clears it unless it is a volume size', async () => {
      const made = await create(client, body(null));
      expect(spec(made)?.[field]).toBeNull();
      const full = SPEC_VALUES[field][1];
      const other = await create(client, body(full));
      const cleared = await patch(client, other.id, { source_config: { resource_spec: { [field]: null } } });
      // A volume is mounted still: only what mounts it can be cleared.
      expect(cleared.status).toBe(200);
      expect(spec(cleared.body)?.[field]).toEqual(field === 'db_storage_gi' ? full : null);
    });
  });

  test('resource_spec round-trips with all fields at once, together with effective_resource_spec', async () => {
    const made = await create(client, {
      source_config: { deployment_type: 'prod', resource_spec: fullResourceSpec },
    });
    expect(made.source_config.resource_spec).toEqual(fullResourceSpec);
    expect(made.effective_resource_spec).toMatchObject(fullResourceSpec);
    const nothing = Object.fromEntries(RESOURCE_SPEC_FIELDS.map((field) => [field, null]));
    const cleared = await patch(client, made.id, { source_config: { resource_spec: nothing } });
    expect(cleared.body.source_config.resource_spec).toEqual({ ...nothing, db_storage_gi: 20 });
    const all = await patch(client, made.id, { source_config: { resource_spec: null } });
    expect(all.body.generation).toBe(cleared.body.generation);
  });

  test('a container accepts null for an absent field, and a number for a quantity', async () => {
    const sidecars = [
      {
        name: 'a',
        image: 'b',
        args: null,
        env: [{ name: 'X', value: 'y', valueFrom: null }],
        resources: { limits: { cpu: 1 } },
      },
    ];
    const made = await create(client, { source_config: { resource_spec: { sidecars } } });
    expect(made.source_config.resource_spec?.['sidecars']).toEqual([
      { name: 'a', image: 'b', env: [{ name: 'X', value: 'y' }], resources: { limits: { cpu: '1' } } },
    ]);
  });
});

describe('in cloud mode', () => {
  let api: ApiFixture;
  let client: Client;
  beforeAll(async () => {
    api = await startApi({ hosting: 'cloud' });
    client = await api.tenant();
  });
  afterAll(() => api.stop());

  fieldTests(GIT_FIELDS, gitBody, () => client);

  test('a default that is derived from a sent value is limited to the cap of the policy', async () => {
    const image = { source: 'internal_image', source_revision_config: { image_uri: 'shop/web:1' } };
    const spec = (sent: ResourceSpec) => ({ source_config: { resource_spec: sent } });
    const made = await create(client, { ...image, ...spec({ cpu: 20 }) });
    expect(made.source_config.resource_spec).toMatchObject({ cpu: 20, cpu_limit: null });
    expect(made.source_config).not.toHaveProperty('default_ceilings');
    expect(made.effective_resource_spec).toMatchObject({ cpu: 20, cpu_limit: 32 });
    expect((await patch(client, made.id, spec({ cpu: 20 }))).body.generation).toBe(made.generation);
    const changed = await patch(client, made.id, spec({ cpu: 10, memory_mb: 100_000 }));
    expect(changed.body.effective_resource_spec).toMatchObject({ cpu_limit: 20, memory_limit_mb: 131_072 });
    const { effects: _, ...shown } = changed.body as typeof changed.body & { effects?: unknown };
    expect(await read(client, made.id)).toEqual(shown);
    const refused = await patch(client, made.id, spec({ cpu: 33 }));
    expect(refused).toMatchObject({
      status: 400,
      body: { detail: [{ loc: ['body', 'source_config', 'resource_spec', 'cpu'], type: 'policy_cap' }] },
    });
  });

  test('a git_host deployment starts with a revision in AWAITING_BUILD', async () => {
    const made = await create(client, gitBody);
    const revisions = await client.call<{ resources: { status: string }[] }>(
      'GET',
      `/v2/deployments/${made.id}/revisions`,
    );
    expect(revisions.body.resources).toMatchObject([{ status: 'AWAITING_BUILD', reason: 'AwaitingBuild' }]);
  });

  test.each([
    ['image_uri', { source_revision_config: { workflow_config_path: 'a', image_uri: 'shop/web:1' } }],
    ['listener_id', { source_config: { repo_url: 'https://a.b/c', listener_id: PLATFORM_LISTENER_ID } }],
    ['custom_url', { source_config: { repo_url: 'https://a.b/c', custom_url: 'https://shop.example.com' } }],
    ['repo_url', { source_config: {} }],
    ['workflow_config_path', { source_revision_config: {} }],
    [
      'build_on_push',
      {
        source_config: { repo_url: 'https://a.b/c', build_on_push: true },
        source_revision_config: { workflow_config_path: 'a', repo_ref: 'refs/tags/v1' },
      },
    ],
  ])('git_host returns 400 with a forbidden or missing %s', async (field, more) => {
    const answer = await client.call<{ detail: { loc: string[] }[] }>(
      'POST',
      '/v2/deployments',
      createBody({ ...gitBody, ...more }),
    );
    expect(answer.status).toBe(400);
    expect(answer.body.detail.map(({ loc }) => loc.at(-1))).toContain(field);
  });

  test('external_image returns 400', async () => {
    const answer = await client.call('POST', '/v2/deployments', createBody());
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ detail: [{ loc: ['body', 'source'], type: 'source_unavailable' }] });
  });

  test('cluster_namespace accepts the namespace of the tenant and rejects others', async () => {
    const at = (cluster_namespace: string) => ({
      source: 'internal_image',
      source_config: { listener_config: { cluster_namespace } },
    });
    const own = await create(client, at(`berth-${client.tenantId}`));
    expect(own.source_config['listener_config']).toEqual({ cluster_namespace: `berth-${client.tenantId}` });
    const other = await client.call('POST', '/v2/deployments', createBody(at('default')));
    expect(other.status).toBe(400);
  });

  test.each([
    ['labels', { labels: { 'sidecar.istio.io/inject': 'true' } }],
    ['annotations', { annotations: { 'iam.amazonaws.com/role': 'admin' } }],
    ['service_account_name', { service_account_name: 'payments' }],
    ['nfs', { volumes: [{ name: 'v', nfs: { server: 'a', path: '/' } }] }],
    ['csi', { volumes: [{ name: 'v', csi: { driver: 'a.b' } }] }],
    ['runAsUser', { sidecars: [{ name: 'a', image: 'b', securityContext: { runAsUser: 0 } }] }],
    ['max_scale', { max_scale: 51 }],
    ['cpu', { sidecars: [{ name: 'a', image: 'b', resources: { limits: { cpu: '33' } } }] }],
  ])('resource_spec returns 400 when the policy forbids %s', async (field, resource_spec) => {
    const body = createBody({ source: 'internal_image', source_config: { resource_spec } });
    const answer = await client.call<{ detail: { loc: string[] }[] }>('POST', '/v2/deployments', body);
    expect(answer.status, JSON.stringify(answer.body)).toBe(400);
    expect(answer.body.detail.flatMap(({ loc }) => loc)).toContain(field);
  });
});
