/** Revisions made of the content of another: new, again, rolled back; for all three what is refused and what stays. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { uuidv7 } from '../../../../src/domain/core/id.ts';
import {
  type ApiFixture,
  type Client,
  create,
  type Deployment,
  startApi,
  uniqueName,
} from '../../harness/api.ts';
import { insert } from '../../harness/store.ts';

let api: ApiFixture;
let client: Client;
beforeAll(async () => {
  api = await startApi();
  client = await api.tenant();
});
afterAll(() => api.stop());

interface Revision {
  id: string;
  number: number;
  status: string;
  source_revision_config: Record<string, unknown>;
  resolved_image: string | null;
}
interface RevisionPreview {
  pods_roll: boolean;
  rolls: string[];
  changes: object[];
}
const MASK = '**********';
type Refusal = { detail: unknown };

const DIGEST = `registry.example.com/shop/web@sha256:${'a'.repeat(64)}`;
const image = (tag: string) => ({ image_uri: `registry.example.com/shop/web:${tag}` });
const path = (id: string, rest = '') => `/v2/deployments/${id}/revisions${rest}`;
const post = <T = Revision>(url: string, headers: Record<string, string> = {}, body?: unknown) =>
  client.call<T>('POST', url, body, headers);
const read = async (id: string) => (await client.call<Deployment>('GET', `/v2/deployments/${id}`)).body;
const patch = async (id: string, body: object) =>
  (await client.call<Deployment>('PATCH', `/v2/deployments/${id}`, body)).body;
const revisions = async (id: string) =>
  (await client.call<{ resources: Revision[] }>('GET', path(id, '?limit=100'))).body.resources;
const resolve = (revisionId: string | null, to: string) =>
  api.store.sql('UPDATE revisions SET resolved_image = $2 WHERE id = $1', [revisionId, to]);

/** Two revisions: 1 with the secret A=1 and the tag 1, 2 with A=2 and B=2 and the tag 2. */
async function twoRevisions(): Promise<{ id: string; first: string; second: string }> {
  const made = await create(client, {
    source_revision_config: image('1'),
    secrets: [{ name: 'A', value: '1' }],
  });
  const changed = await patch(made.id, {
    source_revision_config: image('2'),
    secrets: [
      { name: 'A', value: '2' },
      { name: 'B', value: '2' },
    ],
  });
  return { id: made.id, first: made.latest_revision_id ?? '', second: changed.latest_revision_id ?? '' };
}

describe('POST …/revisions', () => {
  test('creates a revision of the latest content without a difference, and resolves its tag again', async () => {
    const { id, second } = await twoRevisions();
    await resolve(second, DIGEST);
    const answer = await post(path(id));
    expect(answer).toMatchObject({
      status: 201,
      body: { number: 3, status: 'QUEUED', source_revision_config: image('2'), resolved_image: null },
      headers: { location: path(id, `/${answer.body.id}`), etag: '"3"' },
    });
    expect(await read(id)).toMatchObject({
      latest_revision_id: answer.body.id,
      generation: 3,
      image_version: '2',
      secrets: [
        { name: 'A', value: '2' },
        { name: 'B', value: '2' },
      ],
    });
    const [stored] = await api.store.sql<{ sets: number }>(
      'SELECT count(*)::int AS sets FROM secret_sets WHERE deployment_id = $1',
      [id],
    );
    expect(stored).toEqual({ sets: 2 });
  });

  test('returns 400 with the field and writes nothing before the first image', async () => {
    const made = await create(client, { source: 'internal_image', source_revision_config: {} });
    const before = await api.rowCounts();
    const answer = await post<Refusal>(path(made.id), { 'idempotency-key': uniqueName('key') });
    expect(answer).toMatchObject({
      status: 400,
      body: { detail: [{ loc: ['body', 'source_revision_config', 'image_uri'] }] },
    });
    expect(await api.rowCounts()).toEqual(before);
  });

  test('accepts a missing or empty body, and returns 422 for any field in it', async () => {
    const { id } = await twoRevisions();
    expect((await post(path(id), {}, {})).status).toBe(201);
    expect((await post(path(id), { 'content-type': 'application/json' }, '')).status).toBe(201);
    const refused = await post<Refusal>(path(id), {}, { image_uri: 'x' });
    expect(refused).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'image_uri'] }] } });
  });
});

describe.each(['redeploy', 'rollback'] as const)('POST …/revisions/{rid}/%s', (verb) => {
  test('repeats the image digest and the secrets, and makes the new revision the latest one', async () => {
    const { id, first } = await twoRevisions();
    await resolve(first, DIGEST);
    const before = await read(id);
    const answer = await post(path(id, `/${first}/${verb}`));
    expect(answer).toMatchObject({
      status: 201,
      body: { number: 3, status: 'QUEUED', source_revision_config: image('1'), resolved_image: DIGEST },
    });
    const after = await read(id);
    expect(after).toMatchObject({
      latest_revision_id: answer.body.id,
      source_revision_config: { ...image('1') },
      image_version: '1',
      secrets: [{ name: 'A', value: '1' }],
      generation: before.generation + 1,
      source_config: before.source_config,
      active_revision_id: before.active_revision_id,
    });
    const events = await client.call<{ resources: Record<string, unknown>[] }>(
      'GET',
      `/v2/deployments/${id}/events`,
    );
    expect(events.body.resources[0]).toMatchObject({
      reason: verb === 'redeploy' ? 'RedeployRequested' : 'RollbackRequested',
      revision_id: answer.body.id,
      details: { repeated_revision_id: first, repeated_number: 1 },
    });
    expect(JSON.stringify(events.body)).not.toContain('"value"');
  });

  test('leads to values that change nothing when a PATCH sends them back', async () => {
    const { id, first } = await twoRevisions();
    await post(path(id, `/${first}/${verb}`));
    const shown = await read(id);
    const { source_config, source_revision_config, secrets } = shown;
    const patched = await patch(id, { source_config, source_revision_config, secrets });
    expect(patched).toMatchObject({
      generation: shown.generation,
      latest_revision_id: shown.latest_revision_id,
    });
  });

  test('returns 404 for a foreign revision or deployment, 409 during a deletion and 412 for another generation', async () => {
    const [own, other] = [await twoRevisions(), await twoRevisions()];
    const before = await api.rowCounts();
    expect((await post(path(own.id, `/${other.first}/${verb}`))).status).toBe(404);
    expect((await post(path(own.id, `/${uuidv7()}/${verb}`))).status).toBe(404);
    expect((await post(path(uuidv7(), `/${own.first}/${verb}`))).status).toBe(404);
    expect((await post(path(own.id, `/nonsense/${verb}`))).status).toBe(422);
    expect((await post(path(own.id, `/${own.first}/${verb}`), { 'if-match': '"1"' })).status).toBe(412);
    const stranger = await api.tenant();
    expect((await stranger.call('POST', path(own.id, `/${own.first}/${verb}`))).status).toBe(404);
    expect(await api.rowCounts()).toEqual(before);
    expect((await post(path(own.id, `/${own.first}/${verb}`), { 'if-match': '"2"' })).status).toBe(201);
    await client.call('DELETE', `/v2/deployments/${other.id}`);
    expect(await post<Refusal>(path(other.id, `/${other.first}/${verb}`))).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('AWAITING_DELETE') },
    });
    expect((await post(path(other.id))).status).toBe(409);
  });

  test('assigns revision numbers without gaps when many requests arrive at once', async () => {
    const { id, first } = await twoRevisions();
    const answers = await Promise.all([...Array(12)].map(() => post(path(id, `/${first}/${verb}`))));
    expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(201));
    expect(answers.map(({ body }) => body.number).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 12 }, (_, index) => index + 3),
    );
    const all = await revisions(id);
    expect(all.map(({ number }) => number)).toEqual(Array.from({ length: 14 }, (_, index) => 14 - index));
    expect(await read(id)).toMatchObject({ latest_revision_id: all[0]?.id, generation: 14 });
  });

  test('checks the earlier secrets against the current source_config', async () => {
    // A pool of this size is too small for the scales, which is no matter to a database that is not ours.
    const made = await create(client, {
      secrets: [{ name: 'DATABASE_URI_CUSTOM', value: 'postgres://elsewhere/db' }],
    });
    await patch(made.id, { secrets: [] });
    const refused = await client.call('PATCH', `/v2/deployments/${made.id}`, {
      source_config: { resource_spec: { max_scale: 10, db_max_connections: 20 } },
    });
    expect(refused.status).toBe(400);
    await post(path(made.id, `/${made.latest_revision_id}/${verb}`));
    const small = await patch(made.id, {
      source_config: { resource_spec: { max_scale: 10, db_max_connections: 20 } },
    });
    expect(small.generation).toBe(4);
    const without = (await revisions(made.id)).find(({ number }) => number === 2);
    const answer = await post<Refusal>(path(made.id, `/${without?.id}/${verb}`));
    expect(answer).toMatchObject({
      status: 400,
      body: { detail: [{ loc: ['body', 'source_config', 'resource_spec', 'db_max_connections'] }] },
    });
    expect((await read(made.id)).generation).toBe(4);
  });
});

describe.each(['redeploy', 'rollback'] as const)('POST …/revisions/{rid}/%s?dry_run=true', (verb) => {
  test('returns the changed fields and the parts whose pods roll, and stores nothing', async () => {
    const { id, first } = await twoRevisions();
    const before = await api.rowCounts();
    const answer = await post<RevisionPreview>(path(id, `/${first}/${verb}?dry_run=true`));
    expect(answer).toMatchObject({ status: 200, body: { new_revision: true, builds: false } });
    expect(answer.body.pods_roll).toBe(answer.body.rolls.length > 0);
    expect(answer.body.changes).toEqual([
      {
        field: 'source_revision_config.image_uri',
        before: image('2').image_uri,
        after: image('1').image_uri,
      },
      { field: 'secrets.A', before: MASK, after: MASK },
      { field: 'secrets.B', before: MASK, after: null },
    ]);
    expect(await api.rowCounts()).toEqual(before);
    expect(await read(id)).toMatchObject({ generation: 2 });
  });

  test('rejects what the request itself rejects', async () => {
    const { id, first } = await twoRevisions();
    const url = (revisionId: string) => path(id, `/${revisionId}/${verb}?dry_run=true`);
    expect((await post(url(first), { 'if-match': '"1"' })).status).toBe(412);
    expect((await post(url(uuidv7()))).status).toBe(404);
    expect((await post(path(id, `/${first}/${verb}?dry=true`))).status).toBe(422);
  });
});

test('a dry run of a new revision with the same content changes no field', async () => {
  const { id } = await twoRevisions();
  expect(await post(path(id, '?dry_run=true'))).toMatchObject({ status: 200, body: { changes: [] } });
});

test('GET …/revisions/{rid} names the secrets of the revision, without their values', async () => {
  const { id, second } = await twoRevisions();
  const answer = await client.call<{ secret_names: string[] }>('GET', path(id, `/${second}`));
  expect(answer.body.secret_names).toEqual(['A', 'B']);
});

describe('Idempotency-Key', () => {
  test.each(['', 'redeploy', 'rollback'])(
    'returns the same revision for simultaneous and for later requests: %s',
    async (verb) => {
      const { id, first } = await twoRevisions();
      const url = path(id, verb === '' ? '' : `/${first}/${verb}`);
      const headers = { 'idempotency-key': uniqueName('key'), 'if-match': '"2"' };
      const answers = await Promise.all([...Array(8)].map(() => post(url, headers)));
      expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(201));
      expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
      await post(path(id));
      expect((await post(url, headers, {})).body.id).toBe(answers[0]?.body.id);
      expect(await revisions(id)).toHaveLength(4);
      // The key is the operation's: on another one it is free.
      const other = { 'idempotency-key': headers['idempotency-key'] };
      expect(
        (await post(path(id, `/${first}/${verb === 'redeploy' ? 'rollback' : 'redeploy'}`), other)).body
          .number,
      ).toBe(5);
    },
  );

  test('is not used up by a rejected request, and returns 409 when the deployment is gone', async () => {
    const { id, first } = await twoRevisions();
    const headers = { 'idempotency-key': uniqueName('key') };
    const url = path(id, `/${first}/rollback`);
    expect((await post(url, { ...headers, 'if-match': '"1"' })).status).toBe(412);
    expect((await post(url, headers)).status).toBe(201);
    await client.call('DELETE', `/v2/deployments/${id}?force=true`);
    expect(await post<Refusal>(url, headers)).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('has been deleted') },
    });
  });
});

describe('a git_host deployment', () => {
  /** As the builder leaves it. */
  const built = async (resolved: string | null, ref = 'refs/heads/main') => {
    const revision = {
      id: uuidv7(),
      status: 'QUEUED' as const,
      ...(resolved === null ? {} : { resolvedImage: resolved }),
    };
    return insert(api.store, client.tenantId, uniqueName('git'), {
      source: 'git_host',
      sourceRevisionConfig: {
        repo_ref: ref,
        workflow_config_path: 'app.json',
        image_uri: resolved,
        repo_commit_sha: resolved === null ? null : 'c'.repeat(40),
      },
      revision,
    });
  };

  test('builds a new revision again, but redeploys and rolls back with the image that was built', async () => {
    const { id, latestRevisionId } = await built(DIGEST);
    expect(await post(path(id))).toMatchObject({
      status: 201,
      body: {
        status: 'AWAITING_BUILD',
        resolved_image: null,
        source_revision_config: { repo_ref: 'refs/heads/main', image_uri: null, repo_commit_sha: null },
      },
    });
    for (const verb of ['redeploy', 'rollback']) {
      expect(await post(path(id, `/${latestRevisionId}/${verb}`))).toMatchObject({
        status: 201,
        body: {
          status: 'QUEUED',
          resolved_image: DIGEST,
          source_revision_config: { image_uri: DIGEST, repo_commit_sha: 'c'.repeat(40) },
        },
      });
    }
  });

  test('rejects a rollback to a tag while a branch is built on push', async () => {
    const { id, latestRevisionId: ofTag } = await built(DIGEST, 'refs/tags/v1');
    const become = (build_on_push: boolean) =>
      api.store.sql(
        `UPDATE deployments SET source_config = source_config || $2, source_revision_config = source_revision_config || '{"repo_ref": "main"}'
         WHERE id = $1`,
        [id, JSON.stringify({ build_on_push })],
      );
    await become(true);
    const before = await api.rowCounts();
    expect(await post(path(id, `/${ofTag}/rollback`))).toMatchObject({
      status: 400,
      body: { detail: [{ loc: ['body', 'source_config', 'build_on_push'], type: 'tag_built_on_push' }] },
    });
    expect(await api.rowCounts()).toEqual(before);
    await become(false);
    expect((await post(path(id, `/${ofTag}/rollback`))).status).toBe(201);
  });

  test('waits for a build when the repeated revision was never built', async () => {
    const { id, latestRevisionId } = await built(null);
    for (const verb of ['redeploy', 'rollback']) {
      expect((await post(path(id, `/${latestRevisionId}/${verb}`))).body).toMatchObject({
        status: 'AWAITING_BUILD',
        resolved_image: null,
      });
    }
  });
});

test('a key with deployments:read alone cannot create a revision', async () => {
  const { id, first } = await twoRevisions();
  const reader = await api.client(client.tenantId, ['deployments:read']);
  for (const url of [path(id), path(id, `/${first}/redeploy`), path(id, `/${first}/rollback`)]) {
    expect((await reader.call('POST', url)).status).toBe(403);
  }
});

test('creates a revision when the body is absent, null or an empty object, and rejects any other body', async () => {
  const { id, first } = await twoRevisions();
  for (const body of [undefined, 'null', {}])
    expect((await post(path(id, `/${first}/redeploy`), {}, body)).status, String(body)).toBe(201);
  for (const body of [[], { number: 1 }, '0'])
    expect((await post(path(id, `/${first}/redeploy`), {}, body)).status, String(body)).toBe(422);
});
