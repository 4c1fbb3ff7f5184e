/** A deployment whose secrets cannot be decrypted: each response reports it, and no other deployment is affected. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { PLATFORM_LISTENER_ID } from '../../../../src/domain/deployment/source.ts';
import { type ApiFixture, type Client, create, type Deployment, startApi } from '../../harness/api.ts';

let api: ApiFixture;
let client: Client;
let broken: Deployment;
let whole: Deployment;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  client = await api.tenant();
  broken = await create(client, { secrets: [{ name: 'TOKEN', value: 'lost' }] });
  whole = await create(client, { secrets: [{ name: 'TOKEN', value: 'kept' }] });
  await api.store.sql(
    'UPDATE secret_sets SET sealed = set_byte(sealed, 20, get_byte(sealed, 20) # 1) WHERE deployment_id = $1',
    [broken.id],
  );
});
afterAll(() => api.stop());

const path = () => `/v2/deployments/${broken.id}`;
const patch = (body: object) => client.call<Deployment>('PATCH', path(), body);
const UNREADABLE = expect.objectContaining({
  type: 'SecretsReadable',
  status: 'False',
  reason: 'SecretsUnreadable',
});

interface Item {
  deployment_id: string;
  env_secrets: { revision_number: number; data: Record<string, string> }[];
}

/** As the listener of the platform. */
async function listen() {
  const platform = await api.client(null, ['listeners:run']);
  const listener = `/v2/listeners/${PLATFORM_LISTENER_ID}`;
  const lease = await platform.call<{ epoch: number }>('PUT', `${listener}/lease`, {
    holder: 'a',
    version: '1',
    cluster_version: 'v1.36.0',
    rendering: null,
    epoch: null,
  });
  const work = async () => {
    const query = `epoch=${lease.body.epoch}&wait_seconds=0&limit=100`;
    const answer = await platform.call<{ items: Item[] }>('GET', `${listener}/work?${query}`);
    return answer.body.items;
  };
  return { work };
}

test('a list shows an unreadable deployment without secrets and with the reason, and others as usual', async () => {
  const { status, body } = await client.call<{ resources: Deployment[] }>('GET', '/v2/deployments');
  expect(status).toBe(200);
  expect(body.resources.map(({ id, secrets }) => [id, secrets])).toEqual([
    [whole.id, [{ name: 'TOKEN', value: 'kept' }]],
    [broken.id, []],
  ]);
  expect(body.resources[0]?.conditions).not.toContainEqual(UNREADABLE);
  expect(body.resources[1]?.conditions).toContainEqual(UNREADABLE);
  const single = await client.call<Deployment>('GET', path());
  expect(single.body).toEqual(body.resources[1]);
});

describe('a write to an unreadable deployment', () => {
  test.each([
    ['what was read', () => ({ source_config: {}, secrets: [] })],
    ['no secrets', () => ({ source_config: { resource_spec: { cpu: 1 } } })],
    ['the mask', () => ({ secrets: [{ name: 'TOKEN', value: '**********' }] })],
    [
      'one of them masked',
      () => ({
        secrets: [
          { name: 'A', value: 'new' },
          { name: 'TOKEN', value: '**********' },
        ],
      }),
    ],
  ])('returns 409 with the next step and writes nothing when a PATCH has %s', async (_what, body) => {
    const before = await api.rowCounts();
    const answer = await patch(body());
    expect(answer).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('Send all secret values again') },
    });
    expect(await api.rowCounts()).toEqual(before);
  });

  test('repairs it when a PATCH has all secrets and values', async () => {
    const secrets = [{ name: 'TOKEN', value: 'anew' }];
    const answer = await patch({ secrets });
    expect(answer).toMatchObject({ status: 200, body: { secrets, generation: 2 } });
    expect(answer.body.latest_revision_id).not.toBe(broken.latest_revision_id);
    expect(answer.body.conditions).not.toContainEqual(UNREADABLE);
  });

  test('succeeds for DELETE, which needs no secrets', async () => {
    expect((await client.call('DELETE', path())).status).toBe(204);
  });
});

const revision = () => `${path()}/revisions/${broken.latest_revision_id}`;

test.each(['/revisions', '/redeploy', '/rollback'])(
  'POST …%s for an unreadable deployment returns 409 and writes nothing',
  async (verb) => {
    const before = await api.rowCounts();
    const answer = await client.call(
      'POST',
      verb === '/revisions' ? `${path()}${verb}` : `${revision()}${verb}`,
    );
    expect(answer).toMatchObject({ status: 409, body: { detail: expect.stringContaining('decrypted') } });
    expect(await api.rowCounts()).toEqual(before);
  },
);

test('explain names unreadable secrets as the cause until they are replaced', async () => {
  interface Explained {
    summary: string;
    causes: { reason: string }[];
    remedy: { kind: string; reason: string } | null;
  }
  const explain = async (id: string | null) =>
    (await client.call<Explained>('GET', `${path()}/revisions/${id}/explain`)).body;
  const explained = await explain(broken.latest_revision_id);
  expect(explained.remedy).toMatchObject({ kind: 'act', reason: 'SecretsUnreadable' });
  expect(explained.summary).toContain('cannot be sent to the listener');
  const mended = await patch({ secrets: [{ name: 'TOKEN', value: 'anew' }] });
  const after = await explain(mended.body.latest_revision_id);
  expect(after.causes.map(({ reason }) => reason)).not.toContain('SecretsUnreadable');
});

test('the hub hands out a repaired active deployment at once, with the new environment', async () => {
  await api.store.sql('UPDATE deployments SET active_revision_id = latest_revision_id WHERE id = $1', [
    broken.id,
  ]);
  await api.store.sql("UPDATE revisions SET status = 'DEPLOYED' WHERE deployment_id = $1", [broken.id]);
  await patch({ secrets: [{ name: 'TOKEN', value: 'anew' }] });
  const { work } = await listen();
  const item = (await work()).find(({ deployment_id }) => deployment_id === broken.id);
  expect(item?.env_secrets).toMatchObject([{ revision_number: 2, data: { TOKEN: 'anew' } }]);
});

test('the hub does not hand out an unreadable deployment, records this once, and hands out the others', async () => {
  const { work: items } = await listen();
  const work = async () => (await items()).map(({ deployment_id }) => deployment_id);
  const first = await work();
  expect(first).toContain(whole.id);
  expect(first).not.toContain(broken.id);
  const dueAgain = () =>
    api.store.sql('UPDATE deployments SET next_attempt_at = now() WHERE id = $1', [broken.id]);
  await dueAgain();
  expect(await work()).not.toContain(broken.id);
  const events = await client.call<{ resources: { reason: string; message: string; revision_id: string }[] }>(
    'GET',
    `${path()}/events`,
  );
  const told = events.body.resources.filter(({ reason }) => reason === 'SecretsUnreadable');
  expect(told).toMatchObject([
    { revision_id: broken.latest_revision_id, message: expect.stringContaining('was not handed') },
  ]);
  await patch({ secrets: [{ name: 'TOKEN', value: 'anew' }] });
  await dueAgain();
  expect(await work()).toContain(broken.id);
});
