/** Listeners: what their lease says of them, and what may be changed or taken away while deployments use them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PLATFORM_LISTENER_ID } from '../../../../src/domain/deployment/source.ts';
import { chooseListener } from '../../../../src/hub/store/listeners/listeners.ts';
import { type ApiFixture, type Client, create, createBody, startApi, uniqueName } from '../../harness/api.ts';

interface Listener {
  id: string;
  tenant_id: string | null;
  compute_id: string;
  compute_config: { k8s_namespaces: string[] };
  cluster_id: string | null;
  status: string;
  last_seen_at: string | null;
  updated_at: string;
  detail?: unknown;
}
interface Listed {
  resources: Listener[];
  offset: number;
}

let api: ApiFixture;
let client: Client;
beforeAll(async () => {
  api = await startApi();
  client = await api.tenant();
});
afterAll(() => api?.stop());

async function made(namespaces: string[] = [], by = client): Promise<Listener> {
  const compute_config = { k8s_namespaces: namespaces };
  const answer = await by.call<Listener>('POST', '/v2/listeners', {
    compute_id: uniqueName(),
    compute_config,
  });
  expect(answer.status).toBe(201);
  return answer.body;
}

const at = (listener: Listener) => `/v2/listeners/${listener.id}`;
const patch = (listener: Listener, body: object, by = client) =>
  by.call<Listener>('PATCH', at(listener), body);
const namespacesOf = (names: string[]) => ({ compute_config: { k8s_namespaces: names } });
const deployAt = (listener: Listener, namespace: string) =>
  create(client, {
    source_config: { listener_id: listener.id, listener_config: { cluster_namespace: namespace } },
  });

const lease = (listener: Listener, more: object = {}) =>
  client.call<{ epoch: number }>('PUT', `${at(listener)}/lease`, {
    holder: 'a',
    version: '1',
    cluster_version: 'v1.36.0',
    rendering: null,
    epoch: null,
    ...more,
  });
const statusOf = async (listener: Listener) => (await client.call<Listener>('GET', at(listener))).body.status;

describe('the status of a listener', () => {
  test('is derived from the lease alone', async () => {
    const listener = await made();
    expect(listener).toMatchObject({ status: 'NEVER_SEEN', last_seen_at: null });
    const { epoch } = (await lease(listener)).body;
    expect(await statusOf(listener)).toBe('CONNECTED');
    await lease(listener, { epoch, cluster_reachable: false });
    expect(await statusOf(listener)).toBe('CLUSTER_UNREACHABLE');
    const expire = `UPDATE listeners SET lease_expires_at = now() - interval '1 second' WHERE id = $1`;
    await api.store.sql(expire, [listener.id]);
    expect(await statusOf(listener)).toBe('LOST');
    await lease(listener, { epoch });
    const { body } = await client.call<Listener>('GET', at(listener));
    expect(body.status).toBe('CONNECTED');
    expect(Date.parse(body.last_seen_at ?? '')).toBeGreaterThan(0);
  });

  test('filters the list, as compute_id and compute_type do', async () => {
    const own = await api.tenant();
    const listener = await made([], own);
    const other = await made([], own);
    await own.call('PUT', `${at(other)}/lease`, {
      holder: 'a',
      version: '1',
      cluster_version: 'v1.36.0',
      rendering: null,
      epoch: null,
    });
    const ids = async (query: string) =>
      (await own.call<Listed>('GET', `/v2/listeners${query}`)).body.resources.map(({ id }) => id);
    expect(await ids('')).toEqual([other.id, listener.id, PLATFORM_LISTENER_ID]);
    expect(await ids('?status=CONNECTED')).toEqual([other.id]);
    expect(await ids('?status=CONNECTED,NEVER_SEEN')).toEqual([other.id, listener.id, PLATFORM_LISTENER_ID]);
    expect(await ids('?status=LOST,CLUSTER_UNREACHABLE')).toEqual([]);
    expect(await ids(`?compute_id=${listener.compute_id}&compute_type=k8s`)).toEqual([listener.id]);
    expect(await ids('?limit=1&offset=1')).toEqual([listener.id]);
    for (const query of ['?status=READY', '?status=', '?compute_type=vm']) {
      expect((await own.call('GET', `/v2/listeners${query}`)).status, query).toBe(422);
    }
  });
});

describe('PATCH of a listener', () => {
  test('changes name and namespaces, and records nothing when a value is absent or the same', async () => {
    const listener = await made(['a']);
    const name = uniqueName();
    const changed = await patch(listener, { compute_id: name, ...namespacesOf(['b', 'a']) });
    expect(changed).toMatchObject({
      status: 200,
      body: { compute_id: name, compute_config: { k8s_namespaces: ['b', 'a'] } },
    });
    const { updated_at: updated } = changed.body;
    expect((await patch(listener, {})).body.updated_at).toBe(updated);
    expect((await patch(listener, namespacesOf(['b', 'a']))).body.updated_at).toBe(updated);
    const events = await api.store.sql<{ reason: string; actor_kind: string; details: object }>(
      'SELECT reason, actor_kind, details FROM events WHERE listener_id = $1 ORDER BY id',
      [listener.id],
    );
    expect(events).toMatchObject([
      { reason: 'ListenerCreated', actor_kind: 'api_key' },
      { reason: 'ListenerChanged', details: { changed: ['compute_id', 'compute_config'] } },
    ]);
  });

  test('rejects a name that is taken with 409, and an invalid one with 422', async () => {
    const listener = await made();
    const { compute_id: taken } = await made();
    expect((await patch(listener, { compute_id: taken })).status).toBe(409);
    for (const body of [
      { compute_id: '' },
      { compute_type: 'k8s' },
      namespacesOf(['A']),
      namespacesOf(['a', 'a']),
      { compute_config: {} },
      { tenant_id: null },
    ]) {
      expect((await patch(listener, body)).status, JSON.stringify(body)).toBe(422);
    }
  });

  test('returns 409 with names and counts for the removal of namespaces that have deployments', async () => {
    const listener = await made(['a', 'b', 'c']);
    await deployAt(listener, 'a');
    await deployAt(listener, 'a');
    const inB = await deployAt(listener, 'b');
    const refused = await patch(listener, namespacesOf(['c']));
    expect(refused.status).toBe(409);
    expect(refused.body.detail).toContain('a (2), b (1)');
    // One that is being deleted still has its objects there.
    await client.call('DELETE', `/v2/deployments/${inB.id}`);
    expect((await patch(listener, namespacesOf(['a', 'c']))).status).toBe(409);
    expect((await patch(listener, namespacesOf(['b', 'a', 'd']))).status).toBe(200);
    // No list allows every namespace, so nothing is taken away.
    expect((await patch(listener, namespacesOf([]))).status).toBe(200);
    expect((await patch(listener, namespacesOf(['z']))).status).toBe(409);
  });

  test('waits for a deployment that is being placed, and then returns 409 for its namespace', async () => {
    const listener = await made(['a', 'b']);
    const inA = await deployAt(listener, 'a');
    const { epoch } = (await lease(listener)).body;
    const waiting = async () =>
      (
        await api.store.sql<{ n: number }>(
          `SELECT count(*)::int AS n FROM pg_stat_activity
           WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%listeners%'`,
        )
      )[0]?.n;
    const change = await api.store.database.forTenant(client.tenantId).transaction(async (transaction) => {
      expect(await chooseListener(transaction, client.tenantId, listener.id)).not.toBeNull();
      const asked = patch(listener, namespacesOf(['a']));
      await expect.poll(waiting, { timeout: 30_000 }).toBe(1);
      // Renewals of the lease pass meanwhile.
      expect((await lease(listener, { epoch })).body.epoch).toBe(epoch);
      await transaction.query(`UPDATE deployments SET namespace = 'b' WHERE id = $1`, [inA.id]);
      // Not awaited here: it waits for this transaction.
      return { asked };
    });
    expect((await change.asked).status).toBe(409);
  });

  test('never removes the namespace of a deployment that is created at the same time', async () => {
    for (let round = 0; round < 8; round += 1) {
      const listener = await made(['a', 'b']);
      const body = createBody({
        source_config: { listener_id: listener.id, listener_config: { cluster_namespace: 'b' } },
      });
      const [change, ...creations] = await Promise.all([
        patch(listener, namespacesOf(['a'])),
        ...[1, 2, 3].map(() => client.call('POST', '/v2/deployments', { ...body, name: uniqueName() })),
      ]);
      const inB = creations.filter(({ status }) => status === 201).length;
      expect([200, 409]).toContain(change.status);
      for (const { status } of creations) expect([201, 400]).toContain(status);
      expect(change.status === 200 && inB > 0, `round ${round}`).toBe(false);
    }
  });
});

describe('DELETE of a listener', () => {
  test('deletes an unused listener and records an event', async () => {
    const listener = await made();
    expect((await client.call('DELETE', at(listener))).status).toBe(204);
    expect((await client.call('DELETE', at(listener))).status).toBe(404);
    expect((await lease(listener)).status).toBe(404);
    const [event] = await api.store.sql<{ actor_kind: string }>(
      `SELECT actor_kind FROM events WHERE listener_id = $1 AND reason = 'ListenerDeleted'`,
      [listener.id],
    );
    expect(event?.actor_kind).toBe('api_key');
  });

  test('returns 409 while deployments use it, and while they are being deleted', async () => {
    const listener = await made();
    const deployment = await deployAt(listener, 'a');
    expect((await client.call('DELETE', at(listener))).status).toBe(409);
    await client.call('DELETE', `/v2/deployments/${deployment.id}`);
    const refused = await client.call<Listener>('DELETE', at(listener));
    expect(refused.status).toBe(409);
    expect(refused.body.detail).toContain('Deployments use the listener');
    expect(await statusOf(listener)).toBe('NEVER_SEEN');
  });

  test('succeeds exactly when a POST of a deployment for the listener at the same time fails', async () => {
    for (let round = 0; round < 8; round += 1) {
      const listener = await made();
      const [deletion, creation] = await Promise.all([
        client.call('DELETE', at(listener)),
        client.call('POST', '/v2/deployments', createBody({ source_config: { listener_id: listener.id } })),
      ]);
      expect([
        [204, 400],
        [409, 201],
      ]).toContainEqual([deletion.status, creation.status]);
    }
  });
});

test("the platform's listener is visible to tenants, but their PATCH and DELETE return 403", async () => {
  const platform = { id: PLATFORM_LISTENER_ID } as Listener;
  const before = (await client.call<Listener>('GET', at(platform))).body;
  for (const body of [{ compute_id: 'mine' }, namespacesOf(['mine']), {}]) {
    expect((await patch(platform, body)).status).toBe(403);
  }
  expect((await client.call('DELETE', at(platform))).status).toBe(403);
  expect((await client.call<Listener>('GET', at(platform))).body).toEqual(before);
});

test("a PATCH resets the cluster of a listener, and only an admin can reset that of the platform's listener", async () => {
  const lease = (id: string, by: Client, cluster: string, epoch: number | null = null) =>
    by.call<{ epoch: number }>('PUT', `/v2/listeners/${id}/lease`, {
      holder: cluster,
      version: '0',
      cluster_version: '',
      rendering: null,
      cluster_id: `kube-system/${cluster}`,
      epoch,
    });
  const runner = await api.client(client.tenantId, ['listeners:run']);
  const platformRunner = await api.client(null, ['listeners:run']);
  const own = await made();
  for (const [id, by, changer] of [
    [own.id, runner, client],
    [PLATFORM_LISTENER_ID, platformRunner, await api.tenant(['admin', 'deployments:write'])],
  ] as const) {
    const { epoch } = (await lease(id, by, 'old')).body;
    expect((await lease(id, by, 'new')).body).toMatchObject({
      detail: expect.stringContaining('{"cluster_id": null}'),
    });
    const path = `/v2/listeners/${id}`;
    const forgetful = await changer.call<Listener>('PATCH', path, { cluster_id: null });
    expect([forgetful.status, forgetful.body.cluster_id]).toEqual([200, null]);
    const release = { holder: 'old', version: '0', cluster_version: '', rendering: null, epoch };
    await by.call('PUT', `${path}/lease`, { ...release, release: true });
    expect((await lease(id, by, 'new')).status).toBe(200);
  }
  const forbidden = await api.tenant(['deployments:write']);
  const platform = `/v2/listeners/${PLATFORM_LISTENER_ID}`;
  expect((await forbidden.call('PATCH', platform, { cluster_id: null })).status).toBe(403);
  expect((await client.call('PATCH', `/v2/listeners/${own.id}`, { cluster_id: 'mine' })).status).toBe(422);
});

test('a key with listeners:run can read listeners but not change them', async () => {
  const runner = await api.client(client.tenantId, ['listeners:run']);
  const listener = await made();
  expect((await runner.call('GET', at(listener))).status).toBe(200);
  expect((await patch(listener, {}, runner)).status).toBe(403);
  expect((await runner.call('DELETE', at(listener))).status).toBe(403);
});

test('a listener in cloud mode can change its namespaces freely, because they hold no deployment', async () => {
  const cloud = await startApi({ hosting: 'cloud' });
  try {
    const own = await cloud.tenant();
    const listener = await made(['a'], own);
    const source = 'internal_image';
    await create(own, { source, source_config: { listener_id: listener.id } });
    expect((await patch(listener, namespacesOf(['b']), own)).status).toBe(200);
  } finally {
    await cloud.stop();
  }
});
