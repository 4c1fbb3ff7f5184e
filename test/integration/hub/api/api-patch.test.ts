/** PATCH: what it keeps, clears, replaces and refuses; when it makes a revision; If-Match; the mask written back. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fullResourceSpec } from '../../../arbitraries/full-resource-spec.ts';
import {
  type ApiFixture,
  type Client,
  create,
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

const urlOf = ({ id }: Deployment) => `/v2/deployments/${id}`;

async function patch(
  deployment: Deployment,
  body: unknown,
  headers: Record<string, string> = {},
  by = client,
) {
  return by.call<Deployment & { detail?: Issue[] }>('PATCH', urlOf(deployment), body, headers);
}

async function patched(deployment: Deployment, body: unknown): Promise<Deployment> {
  const answer = await patch(deployment, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body;
}

const revisions = async (deployment: Deployment) =>
  (
    await client.call<{ resources: { number: number; status: string }[] }>(
      'GET',
      `${urlOf(deployment)}/revisions`,
    )
  ).body.resources;

const image = (image_uri: string) => ({ source_revision_config: { image_uri } });
const secrets = [
  { name: 'A', value: '1' },
  { name: 'B', value: '2' },
];

describe('a PATCH without a difference', () => {
  const full = {
    source_config: { deployment_type: 'prod', resource_spec: fullResourceSpec },
    secrets,
  };

  test('changes nothing with an empty body, or with null for every top-level member', async () => {
    const made = await create(client, full);
    expect(await patched(made, {})).toEqual(made);
    expect(await patched(made, { source_config: null, source_revision_config: null, secrets: null })).toEqual(
      made,
    );
    expect(await patched(made, { source_config: {}, source_revision_config: {} })).toEqual(made);
  });

  test('changes nothing when it sends back what was read', async () => {
    for (const body of [full, {}]) {
      const made = await create(client, body);
      const { source_config, source_revision_config, secrets: read } = made;
      expect(await patched(made, { source_config, source_revision_config, secrets: read })).toEqual(made);
    }
  });

  test('keeps the secrets when it sends back masked values', async () => {
    const made = await create(client, full);
    const blind = await api.client(client.tenantId, ['deployments:read', 'deployments:write']);
    const read = (await blind.call<Deployment>('GET', urlOf(made))).body;
    const { source_config, source_revision_config } = read;
    const answer = await patch(
      made,
      { source_config, source_revision_config, secrets: read.secrets },
      {},
      blind,
    );
    expect(answer.body.generation).toBe(1);
    expect((await client.call<Deployment>('GET', urlOf(made))).body.secrets).toEqual(secrets);
  });

  test('ignores the order of secrets and labels', async () => {
    const labels = { a: '1', b: '2' };
    const made = await create(client, { source_config: { resource_spec: { labels } }, secrets });
    const same = {
      source_config: { resource_spec: { labels: { b: '2', a: '1' } } },
      secrets: [...secrets].reverse(),
    };
    expect(await patched(made, same)).toEqual(made);
    const events = await client.call<{ resources: object[] }>('GET', `${urlOf(made)}/events`);
    expect(events.body.resources).toHaveLength(1);
  });

  test('creates no further revision when it sends the same file repeatedly', async () => {
    const made = await create(client, full);
    const body = { source_config: full.source_config, ...image('registry.example.com/shop/web:2'), secrets };
    const once = await patched(made, body);
    for (let minute = 0; minute < 3; minute += 1) expect(await patched(made, body)).toEqual(once);
    expect(await revisions(made)).toHaveLength(2);
  });
});

describe('a PATCH with a difference', () => {
  test('creates a revision for another image', async () => {
    const made = await create(client);
    const after = await patched(made, image('registry.example.com/shop/web:2.0.0'));
    expect(after).toMatchObject({ generation: 2, image_version: '2.0.0' });
    expect(after.latest_revision_id).not.toBe(made.latest_revision_id);
    // What becomes of the older one is for the cluster to say.
    expect(await revisions(made)).toMatchObject([
      { number: 2, status: 'QUEUED' },
      { number: 1, status: 'QUEUED' },
    ]);
  });

  test('creates a revision for another secret, with the stored values for masks', async () => {
    const made = await create(client, { secrets });
    const after = await patched(made, {
      secrets: [
        { name: 'A', value: '**********' },
        { name: 'C', value: '3' },
      ],
    });
    expect(after.latest_revision_id).not.toBe(made.latest_revision_id);
    expect(after.secrets).toEqual([
      { name: 'A', value: '1' },
      { name: 'C', value: '3' },
    ]);
    expect((await patched(made, { secrets: [] })).secrets).toEqual([]);
  });

  test('returns 400 for the mask of a name that is not stored', async () => {
    const made = await create(client, { secrets });
    const answer = await patch(made, { secrets: [{ name: 'C', value: '**********' }] });
    expect(answer.status).toBe(400);
    expect(answer.body.detail).toMatchObject([{ loc: ['body', 'secrets', 0, 'value'] }]);
  });

  test('creates no revision for a change of source_config alone', async () => {
    const made = await create(client);
    const after = await patched(made, { source_config: { resource_spec: { cpu: 2 } } });
    expect(after).toMatchObject({ generation: 2, latest_revision_id: made.latest_revision_id });
    expect(after.effective_resource_spec).toMatchObject({ cpu: 2, cpu_limit: 4 });
    expect(await revisions(made)).toHaveLength(1);
  });

  test('creates the first revision with the first image of an internal_image', async () => {
    const made = await create(client, { source: 'internal_image', source_revision_config: {} });
    const waiting = await patched(made, { secrets });
    expect(waiting).toMatchObject({ latest_revision_id: null, status: 'UNUSED', generation: 2 });
    const after = await patched(made, image('registry.example.com/shop/web:1'));
    expect(after).toMatchObject({ status: 'AWAITING_DATABASE', secrets });
    expect(await revisions(made)).toMatchObject([{ number: 1, status: 'QUEUED' }]);
    const cleared = await patch(made, { source_revision_config: { image_uri: null } });
    expect(cleared.status).toBe(400);
  });

  test('gets a revision number without gaps and a generation of its own when fifty arrive at once', async () => {
    const made = await create(client);
    const answers = await Promise.all(
      [...Array(50).keys()].map((n) => patch(made, image(`registry.example.com/shop/web:${n + 2}`))),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ body }) => body.generation)).size).toBe(50);
    const numbers = await client.call<{ resources: { number: number }[] }>(
      'GET',
      `${urlOf(made)}/revisions?limit=100`,
    );
    expect(numbers.body.resources.map(({ number }) => number)).toEqual(
      [...Array(51).keys()].map((n) => 51 - n),
    );
  });
});

describe('the merge of a PATCH', () => {
  test('merges resource_spec by field, and replaces lists and maps as a whole', async () => {
    const spec = { cpu: 1, memory_mb: 100, labels: { a: '1', b: '2' }, image_pull_secrets: [{ name: 'x' }] };
    const made = await create(client, { source_config: { resource_spec: spec } });
    const change = { cpu: null, labels: { c: '3' }, image_pull_secrets: [] };
    const after = await patched(made, { source_config: { resource_spec: change } });
    expect(after.source_config.resource_spec).toMatchObject({
      cpu: null,
      memory_mb: 100,
      labels: { c: '3' },
      image_pull_secrets: [],
    });
  });

  test('validates the merged result', async () => {
    const made = await create(client, { source_config: { resource_spec: { max_scale: 2 } } });
    const answer = await patch(made, { source_config: { resource_spec: { min_scale: 3 } } });
    expect(answer.status).toBe(400);
    expect(answer.body.detail).toMatchObject([{ type: 'min_above_max' }]);
  });

  test('rejects a smaller volume', async () => {
    const made = await create(client, { source_config: { resource_spec: { db_storage_gi: 30 } } });
    const smaller = await patch(made, { source_config: { resource_spec: { db_storage_gi: 29 } } });
    expect(smaller.body.detail).toMatchObject([
      { loc: ['body', 'source_config', 'resource_spec', 'db_storage_gi'], type: 'storage_shrinks' },
    ]);
    const kept = await patched(made, { source_config: { resource_spec: { db_storage_gi: null } } });
    expect(kept.generation).toBe(1);
    const grown = await patched(made, { source_config: { resource_spec: { db_storage_gi: 31 } } });
    expect(grown.source_config.resource_spec?.['db_storage_gi']).toBe(31);
    const bare = await create(client);
    const below = await patch(bare, { source_config: { resource_spec: { db_storage_gi: 9 } } });
    expect(below.status).toBe(400);
  });

  test('accepts a smaller volume, down to the previous size, until a report shows the larger one', async () => {
    const sized = (db_storage_gi: number) => ({ source_config: { resource_spec: { db_storage_gi } } });
    const made = await create(client, sized(5));
    await patched(made, sized(20));
    expect((await patch(made, sized(4))).status).toBe(400);
    await patched(made, sized(10));
    await patched(made, { source_config: { resource_spec: { max_scale: 2 } } });
    const back = await patched(made, sized(5));
    expect(back.source_config.resource_spec?.['db_storage_gi']).toBe(5);
    expect((await patch(made, sized(4))).status).toBe(400);
    await patched(made, sized(20));
    expect((await patched(made, sized(5))).source_config.resource_spec?.['db_storage_gi']).toBe(5);
  });

  test('rejects another value for an immutable field, and accepts null and the same value', async () => {
    const config = {
      deployment_type: 'dev',
      listener_config: { cluster_namespace: 'apps' },
    };
    const made = await create(client, { source_config: config });
    const changes = [
      { deployment_type: 'prod' },
      { listener_config: { cluster_namespace: 'other' } },
      { listener_id: '01890000-0000-7000-8000-000000000000' },
      { integration_id: '01890000-0000-7000-8000-000000000000' },
      { repo_url: 'https://git.example.com/a' },
    ];
    for (const change of changes) {
      const answer = await patch(made, { source_config: change });
      expect(answer.status).toBe(400);
      expect(answer.body.detail?.[0]).toMatchObject({ type: 'immutable' });
      expect(answer.body.detail?.[0]?.loc[2]).toBe(Object.keys(change)[0]);
    }
    const nothing = Object.fromEntries(changes.flatMap(Object.keys).map((field) => [field, null]));
    expect(await patched(made, { source_config: nothing })).toEqual(made);
    expect(await patched(made, { source_config: { ...config, listener_config: {} } })).toEqual(made);
  });

  test('returns 422 for name and source', async () => {
    const made = await create(client);
    for (const field of ['name', 'source'] as const) {
      const answer = await patch(made, { [field]: made[field] });
      expect(answer.status).toBe(422);
      expect(answer.body.detail).toMatchObject([{ loc: ['body', field] }]);
    }
  });

  test('works for a deployment whose name would be rejected now', async () => {
    const made = await create(client);
    const name = `${made.name}\u200b`;
    await api.store.sql('UPDATE deployments SET name = $2 WHERE id = $1', [made.id, name]);
    expect((await client.call<Deployment>('GET', urlOf(made))).body.name).toBe(name);
    const changed = await patched(made, image('registry.example.com/shop/web:next'));
    expect(changed).toMatchObject({ name, generation: made.generation + 1 });
  });

  test('accepts null for repo_commit_sha, and returns 422 for any other value', async () => {
    const made = await create(client);
    expect(await patched(made, { source_revision_config: { repo_commit_sha: null } })).toEqual(made);
    const answer = await patch(made, { source_revision_config: { repo_commit_sha: 'abc' } });
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toMatchObject([
      { loc: ['body', 'source_revision_config', 'repo_commit_sha'] },
    ]);
  });

  test('checks the connection limit when it removes the secret of a custom database', async () => {
    const spec = { resource_spec: { max_scale: 100, db_max_connections: 20 } };
    const made = await create(client, {
      source_config: spec,
      secrets: [{ name: 'DATABASE_URI_CUSTOM', value: 'postgres://x' }],
    });
    const answer = await patch(made, { secrets: [] });
    expect(answer.status).toBe(400);
    expect(answer.body.detail?.[0]?.loc).toEqual([
      'body',
      'source_config',
      'resource_spec',
      'db_max_connections',
    ]);
  });
});

describe('If-Match of a PATCH', () => {
  test('accepts the current generation or *, and returns 412 otherwise', async () => {
    const made = await create(client);
    const change = (cpu: number, match: string) =>
      patch(made, { source_config: { resource_spec: { cpu } } }, { 'if-match': match });
    const first = await change(2, '"1"');
    expect(first).toMatchObject({ status: 200, headers: { etag: '"2"' } });
    const stale = await change(3, '"1"');
    expect(stale.status).toBe(412);
    expect(stale.body.detail).toEqual(expect.any(String));
    expect((await change(3, '"7", W/"2"')).status).toBe(200);
    expect((await change(4, '*')).status).toBe(200);
    expect((await change(5, 'nonsense')).status).toBe(412);
  });

  test('returns 412 for the ETag of a dry run when another change came in between', async () => {
    const made = await create(client);
    const body = { source_config: { resource_spec: { cpu: 2 } } };
    const dry = await client.call('PATCH', `${urlOf(made)}?dry_run=true`, body);
    expect(dry.headers['etag']).toBe('"1"');
    expect((await patch(made, body)).status).toBe(200);
    const match = { 'if-match': dry.headers['etag'] ?? '' };
    expect((await patch(made, { source_config: { resource_spec: { cpu: 3 } } }, match)).status).toBe(412);
  });

  test('lets one of many simultaneous requests succeed', async () => {
    const made = await create(client);
    const answers = await Promise.all(
      [...Array(10).keys()].map((n) =>
        patch(made, image(`registry.example.com/shop/web:${n}`), { 'if-match': '"1"' }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(412)]);
  });

  test('is not invalidated by a change of status', async () => {
    const made = await create(client);
    await api.store.sql('UPDATE deployments SET data_ready = true, observed_at = now() WHERE id = $1', [
      made.id,
    ]);
    expect((await client.call('GET', urlOf(made))).headers['etag']).toBe('"1"');
  });
});
