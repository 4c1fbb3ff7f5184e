/** dry_run: decides the same, tells what would result, writes nothing. */
import { globSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RenderConfig } from '../../../../src/contract/render/render-config.ts';
import { uuidv7 } from '../../../../src/domain/core/id.ts';
import { PLATFORM_LISTENER_ID } from '../../../../src/domain/deployment/source.ts';
import { updateDesiredState } from '../../../../src/hub/store/deployments/deployments.ts';
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
import { insert, newDeployment } from '../../harness/store.ts';

interface DryRun extends Deployment {
  changes: { field: string; before: unknown; after: unknown }[];
  manifests: { kind: string; metadata: { name: string; namespace: string }; spec?: object }[] | null;
  new_revision: boolean;
  pods_roll: boolean;
  rolls: string[];
}

const rendering: RenderConfig = {
  hosting: 'self_hosted',
  podSecurity: 'baseline',
  databaseImage: 'docker.io/library/postgres:18',
  cacheImage: 'docker.io/valkey/valkey:8',
  healthPath: null,
  progressDeadlineSeconds: 600,
  routing: { mode: 'none', className: null, tlsIssuer: null },
  otlpEndpoint: null,
  networkIsolation: false,
  storageClass: null,
  kubernetesVersion: '1.34',
};

let api: ApiFixture;
let client: Client;
beforeAll(async () => {
  api = await startApi({ deps: { registry: 'registry.berth.example' } });
  client = await api.tenant();
});
afterAll(() => api.stop());

const secret = { name: 'TOKEN', value: 'canary-8d1f' };
const post = (body: unknown) => client.call<DryRun>('POST', '/v2/deployments?dry_run=true', body);

describe('a dry run before the listener reports its rendering configuration', () => {
  test('returns the deployment of a POST without manifests', async () => {
    const before = await api.rowCounts();
    const body = createBody({ secrets: [secret] });
    const answer = await post(body);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      name: body.name,
      manifests: null,
      new_revision: true,
      pods_roll: false,
    });
    expect(await api.rowCounts()).toEqual(before);
    expect((await client.call('POST', '/v2/deployments', body)).status).toBe(201);
  });
});

const MASK = '**********';

describe('the changes of a dry run', () => {
  const put = (name: string, body: unknown) =>
    client.call<DryRun>('PUT', `/v2/deployments/by-name/${name}?dry_run=true`, body);
  const spec = { cpu: 1, labels: { a: '1' } };
  const body = () => createBody({ source_config: { resource_spec: spec }, secrets: [secret] });
  const created = (name: string) => [
    { field: 'name', before: null, after: name },
    { field: 'source', before: null, after: 'external_image' },
    { field: 'source_config.resource_spec.cpu', before: null, after: 1 },
    { field: 'source_config.resource_spec.labels', before: null, after: { a: '1' } },
    {
      field: 'source_revision_config.image_uri',
      before: null,
      after: 'registry.example.com/shop/web:1.0.0',
    },
    { field: 'secrets.TOKEN', before: null, after: MASK },
  ];

  test('are all set fields when a POST or a PUT would create a deployment', async () => {
    const wanted = body();
    const before = await api.rowCounts();
    for (const answer of [await post(wanted), await put(wanted.name, wanted)]) {
      expect(answer.status).toBe(200);
      expect(answer.body).toMatchObject({ new_revision: true, changes: created(wanted.name) });
      expect(answer.headers['location']).toBeUndefined();
    }
    expect(await api.rowCounts()).toEqual(before);
  });

  test('are the changed fields, with masked secrets, when a PATCH or a PUT would change a deployment', async () => {
    const wanted = body();
    const { id } = await create(client, wanted);
    const before = await api.rowCounts();
    const next = {
      source_config: { resource_spec: { cpu: null, labels: { a: '2' } } },
      secrets: [
        { ...secret, value: 'canary-3a77' },
        { name: 'ADDED', value: 'canary-3a78' },
      ],
    };
    const patched = await client.call<DryRun>('PATCH', `/v2/deployments/${id}?dry_run=true`, next);
    for (const answer of [patched, await put(wanted.name, { ...wanted, ...next })]) {
      expect(answer).toMatchObject({ status: 200, headers: { etag: '"1"' } });
      expect(answer.body.changes).toEqual([
        { field: 'source_config.resource_spec.cpu', before: 1, after: null },
        { field: 'source_config.resource_spec.labels', before: { a: '1' }, after: { a: '2' } },
        { field: 'secrets.TOKEN', before: MASK, after: MASK },
        { field: 'secrets.ADDED', before: null, after: MASK },
      ]);
      expect(JSON.stringify(answer.body.changes)).not.toContain('canary');
    }
    expect(await api.rowCounts()).toEqual(before);
  });

  test('are empty when the request would change nothing', async () => {
    const wanted = body();
    const { id } = await create(client, wanted);
    expect((await put(wanted.name, wanted)).body.changes).toEqual([]);
    const patched = await client.call<DryRun>('PATCH', `/v2/deployments/${id}?dry_run=true`, {});
    expect(patched.body.changes).toEqual([]);
  });
});

describe('a dry run after the listener reported its rendering configuration', () => {
  beforeAll(async () => {
    const platform = await api.client(null, ['listeners:run']);
    const lease = { holder: 'test', version: '1', cluster_version: 'v1.34.0', rendering, epoch: null };
    const answer = await platform.call('PUT', `/v2/listeners/${PLATFORM_LISTENER_ID}/lease`, lease);
    expect(answer.status).toBe(200);
  });

  test('returns the objects of a POST without values of secrets', async () => {
    const answer = await post(createBody({ secrets: [secret] }));
    const kinds = answer.body.manifests?.map(({ kind }) => kind) ?? [];
    expect(kinds[0]).toBe('ManagedDeployment');
    for (const kind of ['Deployment', 'Service', 'StatefulSet', 'PersistentVolumeClaim'])
      expect(kinds).toContain(kind);
    expect(JSON.stringify(answer.body.manifests)).not.toContain(secret.value);
    const resource = answer.body.manifests?.[0];
    expect(resource?.spec).toMatchObject({ deploymentId: answer.body.id, recordGeneration: 1 });
  });

  test('returns only data services for a POST of an internal_image without an image', async () => {
    const answer = await post(createBody({ source: 'internal_image', source_revision_config: {} }));
    expect(answer.body.new_revision).toBe(false);
    const names = answer.body.manifests?.map(({ metadata }) => metadata.name) ?? [];
    expect(names.some((name) => name.endsWith('-db'))).toBe(true);
    expect(names.some((name) => name.endsWith('-api'))).toBe(false);
  });

  const samples = globSync('test/samples/*.json').map((file) => JSON.parse(readFileSync(file, 'utf8')));
  test.each(samples.filter(({ source }) => source !== 'git_host'))(
    'renders the sample $name',
    async (body) => {
      const answer = await post(body);
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      expect(answer.body.manifests?.length).toBeGreaterThan(5);
    },
  );

  test('returns 409 for a POST with a name that is taken', async () => {
    const { name } = await create(client);
    expect((await post(createBody({ name }))).status).toBe(409);
  });

  describe('for a PATCH', () => {
    const dry = (deployment: Deployment, body: unknown) =>
      client.call<DryRun & { detail?: Issue[] }>(
        'PATCH',
        `/v2/deployments/${deployment.id}?dry_run=true`,
        body,
      );

    test.each([
      ['nothing', {}, { new_revision: false, pods_roll: false, rolls: [], generation: 1 }],
      [
        'an image',
        { source_revision_config: { image_uri: 'shop/web:2' } },
        { new_revision: true, pods_roll: true, rolls: ['api'], image_version: '2' },
      ],
      ['a secret', { secrets: [] }, { new_revision: true, pods_roll: true }],
      ['cpu', { source_config: { resource_spec: { cpu: 2 } } }, { new_revision: false, pods_roll: true }],
      [
        'scale within the pool',
        { source_config: { resource_spec: { max_scale: 2 } } },
        { new_revision: false, pods_roll: false },
      ],
      [
        'scale that shrinks the pool',
        { source_config: { resource_spec: { max_scale: 500 } } },
        { pods_roll: true },
      ],
      ['storage', { source_config: { resource_spec: { db_storage_gi: 20 } } }, { pods_roll: false }],
      [
        'scale that the database needs more connections for',
        { source_config: { resource_spec: { max_scale: 50 } } },
        { new_revision: false, pods_roll: true },
      ],
      [
        'db_cpu',
        { source_config: { resource_spec: { db_cpu: 2 } } },
        { new_revision: false, pods_roll: true, rolls: ['database'] },
      ],
      [
        'db_memory_mb',
        { source_config: { resource_spec: { db_memory_mb: 2048 } } },
        { new_revision: false, pods_roll: true },
      ],
      [
        'db_max_connections',
        { source_config: { resource_spec: { db_max_connections: 300 } } },
        { new_revision: false, pods_roll: true },
      ],
      [
        'cache_memory_mb',
        { source_config: { resource_spec: { cache_memory_mb: 256 } } },
        { new_revision: false, pods_roll: true, rolls: ['cache'] },
      ],
      [
        'switching off: pods go, none comes',
        { source_config: { resource_spec: { max_scale: 0 } } },
        { pods_roll: false },
      ],
      ['a label', { source_config: { resource_spec: { labels: { a: 'b' } } } }, { pods_roll: true }],
    ])('shows the effect and writes nothing: %s', async (_what, body, expected) => {
      const made = await create(client, { secrets: [secret] });
      const before = await api.rowCounts();
      const answer = await dry(made, body);
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      expect(answer.body).toMatchObject(expected);
      expect(answer.body.manifests?.length).toBeGreaterThan(5);
      expect(await api.rowCounts()).toEqual(before);
      expect((await client.call('GET', `/v2/deployments/${made.id}`)).body).toEqual(made);
    });

    test('shows what the change then does', async () => {
      const made = await create(client);
      const body = { source_config: { resource_spec: { cpu: 2 } } };
      const told = (await dry(made, body)).body;
      const done = (await client.call<Deployment>('PATCH', `/v2/deployments/${made.id}`, body)).body;
      expect({ ...done, updated_at: told.updated_at, conditions: told.conditions }).toEqual(
        Object.fromEntries(Object.keys(done).map((field) => [field, told[field]])),
      );
    });
  });

  describe('for a PATCH of a repository whose latest revision has no image yet', () => {
    const IMAGE = `registry.example/web@sha256:${'d'.repeat(64)}`;

    /** Revision 1 serves, and revision 2 is not built. */
    async function between(status: string) {
      const source = {
        repo_ref: 'main',
        workflow_config_path: 'app.json',
        image_uri: IMAGE,
        repo_commit_sha: 'c'.repeat(40),
      };
      const record = await insert(api.store, client.tenantId, uniqueName('git'), {
        source: 'git_host',
        sourceConfig: { ...newDeployment('').sourceConfig, repo_url: 'https://git.example/team/app' },
        sourceRevisionConfig: source,
        secrets: [secret],
        revision: { id: uuidv7(), status: 'DEPLOYED', resolvedImage: IMAGE },
      });
      await api.store.sql('UPDATE deployments SET active_revision_id = latest_revision_id WHERE id = $1', [
        record.id,
      ]);
      await api.store.database.forTenant(client.tenantId).transaction((transaction) =>
        updateDesiredState(transaction, api.store.box, client.tenantId, record.id, {
          expectedGeneration: 1,
          sourceConfig: record.sourceConfig,
          sourceRevisionConfig: { ...source, image_uri: null, repo_commit_sha: null },
          secrets: {
            kind: 'values',
            secrets: [secret, { name: 'DATABASE_URI_CUSTOM', value: 'postgres://a' }],
          },
          imageVersion: null,
          revision: { id: uuidv7(), status: 'AWAITING_BUILD' },
          actor: { kind: 'system' },
          message: 'Changed: secrets.',
        }),
      );
      await api.store.sql('UPDATE revisions SET status = $2 WHERE deployment_id = $1 AND number = 2', [
        record.id,
        status,
      ]);
      return record.id;
    }

    const dry = (id: string, body: unknown) =>
      client.call<DryRun & { builds: boolean }>('PATCH', `/v2/deployments/${id}?dry_run=true`, body);
    const workloads = ({ manifests }: DryRun) =>
      (manifests ?? [])
        .filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet')
        .map(({ metadata }) => metadata.name.replace(/^.*-/, ''));

    test.each(['AWAITING_BUILD', 'BUILDING', 'BUILD_FAILED'])(
      'shows new pods of the active revision, with its database, for a change of source_config (latest: %s)',
      async (status) => {
        const id = await between(status);
        const { body } = await dry(id, { source_config: { resource_spec: { cpu: 2 } } });
        expect(body).toMatchObject({ new_revision: false, builds: false, pods_roll: true });
        expect(body.manifests?.[0]?.spec).toMatchObject({
          revision: { number: 1, image: IMAGE },
          ...(status === 'BUILD_FAILED' ? {} : { build: { number: 2 } }),
        });
        expect(workloads(body)).toEqual(expect.arrayContaining(['api', 'db', 'cache']));
        expect(JSON.stringify(body.manifests)).toContain(IMAGE);
        const scaled = await dry(id, { source_config: { resource_spec: { max_scale: 2 } } });
        expect(scaled.body).toMatchObject({ pods_roll: false });
      },
    );

    test('shows that pods are replaced after the build, and that the current ones stay until then', async () => {
      const id = await between('BUILD_FAILED');
      const { body } = await dry(id, { secrets: [secret] });
      expect(body).toMatchObject({ new_revision: true, builds: true, pods_roll: true, rolls: ['api'] });
      expect(body.manifests?.[0]?.spec).toMatchObject({
        revision: { number: 1, image: IMAGE },
        build: { number: 3 },
      });
      expect(workloads(body)).toContain('api');
    });
  });

  test('returns 400 for a field that the cluster is too old for, as the real request does', async () => {
    const sidecars = [{ name: 'a', image: 'b', restartPolicy: 'OnFailure' }];
    const body = createBody({ source_config: { resource_spec: { sidecars } } });
    const loc = ['body', 'source_config', 'resource_spec', 'sidecars', 0, 'restartPolicy'];
    const before = await api.rowCounts();
    for (const url of ['/v2/deployments', '/v2/deployments?dry_run=true']) {
      const answer = await client.call('POST', url, body);
      expect(answer).toMatchObject({ status: 400, body: { detail: [{ loc }] } });
    }
    expect(await api.rowCounts()).toEqual(before);
    const made = await create(client);
    const patched = await client.call('PATCH', `/v2/deployments/${made.id}`, {
      source_config: body.source_config,
    });
    expect(patched).toMatchObject({ status: 400, body: { detail: [{ loc }] } });
  });
});
