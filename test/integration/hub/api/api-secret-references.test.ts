/** secret_references beside secrets: sent, read back, changed, rejected and rolled back, and their effect on logs. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ManagedDeployment } from '../../../../src/contract/resource/managed-deployment.ts';
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

type Reference = { name: string; secret_name: string; secret_key: string };
interface Shown extends Deployment {
  secret_references?: Reference[];
  changes: { field: string; before: unknown; after: unknown }[];
  manifests: ManagedDeployment[] | null;
  new_revision: boolean;
  pods_roll: boolean;
  detail?: Issue[];
}

const reference = (name: string, secret_name = 'payments', secret_key = 'api-key'): Reference => ({
  name,
  secret_name,
  secret_key,
});
const REFERENCES = [reference('STRIPE_KEY'), reference('SMTP_PASSWORD', 'mail', 'password')];

let api: ApiFixture;
let client: Client;
beforeAll(async () => {
  api = await startApi();
  client = await api.tenant();
});
afterAll(() => api.stop());

const made = (more: Record<string, unknown> = { secret_references: REFERENCES }) =>
  create(client, more) as Promise<Shown>;
const read = async (id: string) => (await client.call<Shown>('GET', `/v2/deployments/${id}`)).body;
const patch = (id: string, body: object, query = '') =>
  client.call<Shown>('PATCH', `/v2/deployments/${id}${query}`, body);
const issuesOf = ({ detail = [] }: Shown) => detail.map(({ loc }) => loc.join('.'));

describe('responses', () => {
  test('omit the field while there are no references, so that earlier clients see no difference', async () => {
    for (const secret_references of [undefined, null, []]) {
      const { id } = await made({ secret_references });
      expect(await read(id)).not.toHaveProperty('secret_references');
      const revisions = await client.call<{ resources: object[] }>('GET', `/v2/deployments/${id}/revisions`);
      expect(revisions.body.resources[0]).not.toHaveProperty('secret_references');
      const [row] = await api.store.sql<{ config: object }>(
        'SELECT source_revision_config AS config FROM deployments WHERE id = $1',
        [id],
      );
      expect(row?.config).not.toHaveProperty('secretReferences');
    }
  });

  test('show what was sent beside secrets, in the deployment, in a list and in its revision', async () => {
    const created = await made();
    const list = await client.call<{ resources: Shown[] }>('GET', `/v2/deployments?name=${created.name}`);
    const revisions = await client.call<{ resources: Shown[] }>(
      'GET',
      `/v2/deployments/${created.id}/revisions`,
    );
    for (const shown of [
      created,
      await read(created.id),
      list.body.resources[0],
      revisions.body.resources[0],
    ]) {
      expect(shown?.secret_references).toEqual(REFERENCES);
      expect(shown?.source_revision_config).not.toHaveProperty('secretReferences');
      expect(shown?.source_revision_config).not.toHaveProperty('secret_references');
    }
  });

  test('can be sent back by PATCH and PUT without a change', async () => {
    const created = await made();
    const { source, source_config, source_revision_config, secrets, secret_references } = created;
    const echo = { source_config, source_revision_config, secrets, secret_references };
    expect((await patch(created.id, echo)).body.generation).toBe(1);
    const path = `/v2/deployments/by-name/${created.name}`;
    expect((await client.call<Shown>('PUT', path, { source, ...echo })).body.generation).toBe(1);
  });
});

describe('a change', () => {
  test('creates a revision and replaces pods, as the dry run shows', async () => {
    const { id, latest_revision_id } = await made();
    const body = { secret_references: [reference('STRIPE_KEY', 'payments', 'new-key'), reference('NEW')] };
    const before = await api.rowCounts();
    const dry = await patch(id, body, '?dry_run=true');
    expect(dry.body).toMatchObject({ new_revision: true, pods_roll: true });
    expect(dry.body.changes).toEqual([
      {
        field: 'secret_references.STRIPE_KEY',
        before: { secret_name: 'payments', secret_key: 'api-key' },
        after: { secret_name: 'payments', secret_key: 'new-key' },
      },
      {
        field: 'secret_references.SMTP_PASSWORD',
        before: { secret_name: 'mail', secret_key: 'password' },
        after: null,
      },
      {
        field: 'secret_references.NEW',
        before: null,
        after: { secret_name: 'payments', secret_key: 'api-key' },
      },
    ]);
    expect(await api.rowCounts()).toEqual(before);
    const changed = await patch(id, body);
    expect(changed.body.secret_references).toEqual(body.secret_references);
    expect(changed.body.latest_revision_id).not.toBe(latest_revision_id);
    const again = await patch(id, body);
    expect(again.body.generation).toBe(changed.body.generation);
  });

  test('of something else keeps the list, and null clears it', async () => {
    const { id } = await made();
    const other = await patch(id, { source_revision_config: { port: 80 } });
    expect(other.body.secret_references).toEqual(REFERENCES);
    const single = await client.call('PATCH', `/v2/deployments/${id}/secrets`, {
      set: [{ name: 'A', value: 'a' }],
    });
    expect(single.status).toBe(200);
    expect((await read(id)).secret_references).toEqual(REFERENCES);
    expect((await patch(id, { secret_references: null })).body).not.toHaveProperty('secret_references');
  });

  test('by PUT without the list clears it, and a PUT creates a deployment with it', async () => {
    const created = await made();
    const { source, source_config, source_revision_config, name } = created;
    const put = (of: string, more: object) =>
      client.call<Shown>('PUT', `/v2/deployments/by-name/${of}`, {
        source,
        source_config,
        source_revision_config,
        ...more,
      });
    expect((await put(name, {})).body).not.toHaveProperty('secret_references');
    const fresh = await put(uniqueName(), { secret_references: REFERENCES });
    expect(fresh).toMatchObject({ status: 201, body: { secret_references: REFERENCES } });
  });

  test.each(['redeploy', 'rollback'])('is undone by a repeated revision: %s', async (how) => {
    const { id, latest_revision_id } = await made();
    await patch(id, { secret_references: [] });
    const path = `/v2/deployments/${id}/revisions/${latest_revision_id}/${how}`;
    const again = await client.call<Shown>('POST', path);
    expect(again).toMatchObject({ status: 201, body: { secret_references: REFERENCES } });
    expect((await read(id)).secret_references).toEqual(REFERENCES);
  });
});

describe('a list', () => {
  const NAMED = reference('A');
  test.each<[what: string, body: object, status: number, at: string]>([
    ['an unknown field', { ...NAMED, value: 'x' }, 422, 'body.secret_references.0.value'],
    ['an invalid Secret', reference('A', 'B'), 422, 'body.secret_references.0.secret_name'],
    ['an invalid key', reference('A', 'b', 'c/d'), 422, 'body.secret_references.0.secret_key'],
    ['a reserved name', reference('DATABASE_URI'), 422, 'body.secret_references.0.name'],
    ['a Secret of Berth', reference('A', 'shop-0a1b2c3d-db'), 400, 'body.secret_references.0.secret_name'],
    [
      'the key of markers',
      reference('A', 'berth-secret-marker-key'),
      400,
      'body.secret_references.0.secret_name',
    ],
    [
      'a release of Helm',
      reference('A', 'sh.helm.release.v1.berth.v1'),
      400,
      'body.secret_references.0.secret_name',
    ],
  ])('is rejected with %s, in POST and PATCH', async (_what, sent, status, at) => {
    const body = { secret_references: [sent] };
    const post = await client.call<Shown>('POST', '/v2/deployments', createBody(body));
    const { id } = await made();
    for (const answer of [post, await patch(id, body)]) {
      expect(answer.status).toBe(status);
      expect(issuesOf(answer.body)).toEqual([at]);
    }
  });

  test("is rejected with the deployment's own Secret", async () => {
    const { id } = await made();
    const [row] = await api.store.sql<{ app_name: string }>(
      'SELECT app_name FROM deployments WHERE id = $1',
      [id],
    );
    for (const suffix of ['db', 'db-copy', 'env-1', 'tls', 'pull'])
      expect(
        issuesOf(
          (await patch(id, { secret_references: [reference('A', `${row?.app_name}-${suffix}`)] })).body,
        ),
      ).toEqual(['body.secret_references.0.secret_name']);
  });

  test('shares its names with secrets and env', async () => {
    const secret = { name: 'A', value: 'x' };
    const withSecret = await made({ secrets: [secret] });
    const wrong = await patch(withSecret.id, { secret_references: [NAMED] });
    expect([wrong.status, ...issuesOf(wrong.body)]).toEqual([400, 'body.secret_references.0.name']);
    const moved = await patch(withSecret.id, { secrets: [], secret_references: [NAMED] });
    expect(moved.status).toBe(200);
    const env = await patch(withSecret.id, { source_revision_config: { env: [secret] } });
    expect(issuesOf(env.body)).toEqual(['body.source_revision_config.env.0.name']);
    const path = `/v2/deployments/${withSecret.id}/secrets`;
    const single = await client.call<Shown>('PATCH', path, { set: [secret] });
    expect([single.status, ...issuesOf(single.body)]).toEqual([400, 'body.set']);
  });

  test('can provide the database and the cache, so that Berth runs neither', async () => {
    const created = await made({
      secret_references: [reference('DATABASE_URI_CUSTOM'), reference('CACHE_URI_CUSTOM')],
    });
    const items = await api.store.sql<{ n: number }>('SELECT 1 AS n FROM deployments WHERE id = $1', [
      created.id,
    ]);
    expect(items).toHaveLength(1);
    const usage = await client.call<{ storage_gi: { used: number } }>('GET', '/v2/usage');
    expect(usage.status).toBe(200);
    const dry = await patch(created.id, { secret_references: [] }, '?dry_run=true');
    expect(dry.body).toMatchObject({ new_revision: true, pods_roll: true });
  });
});

describe('logs', () => {
  const logs = (as: Client, id: string) => as.call<{ detail: string }>('GET', `/v2/deployments/${id}/logs`);

  test('need secrets:read while a recent revision has references, and not otherwise', async () => {
    const reader = await api.client(client.tenantId, ['deployments:read']);
    const plain = await made({});
    const created = await made();
    // No listener is connected, so a permitted request gets a 503.
    expect((await logs(reader, plain.id)).status).toBe(503);
    const denied = await logs(reader, created.id);
    expect(denied.status).toBe(403);
    expect(denied.body.detail).toContain('secrets:read');
    expect((await logs(client, created.id)).status).toBe(503);
    await patch(created.id, { secret_references: null });
    expect((await logs(reader, created.id)).status).toBe(403);
    for (let port = 1; port <= 10; port += 1) await patch(created.id, { source_revision_config: { port } });
    const serves = (revision: string | null | undefined) =>
      api.store.sql('UPDATE deployments SET active_revision_id = $2 WHERE id = $1', [created.id, revision]);
    await serves(created.latest_revision_id);
    expect((await logs(reader, created.id)).status).toBe(403);
    await serves((await read(created.id)).latest_revision_id);
    expect((await logs(reader, created.id)).status).toBe(503);
  });
});
