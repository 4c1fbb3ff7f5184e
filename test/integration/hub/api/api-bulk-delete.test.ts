/** Deletion of several at once, by force, and whose word on the tracing project counts. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { uuidv7 } from '../../../../src/domain/core/id.ts';
import { removeRecord } from '../../../../src/hub/store/deployments/deployments.ts';
import {
  type ApiFixture,
  type Client,
  create,
  type Deployment,
  startApi,
  uniqueName,
} from '../../harness/api.ts';
import { sweep } from '../../harness/store.ts';

let api: ApiFixture;
let client: Client;
beforeAll(async () => {
  api = await startApi();
  client = await api.tenant();
});
afterAll(() => api.stop());

interface Bulk {
  resources: { deployment_id: string; status: number; detail: string | null }[];
}
const remove = (ids: readonly string[], more = '', by = client) =>
  by.call<Bulk & { detail?: unknown }>('DELETE', `/v2/deployments?deployment_ids=${ids.join(',')}${more}`);
const status = async (id: string) =>
  (await client.call<Deployment>('GET', `/v2/deployments/${id}`)).body.status;
const ids = async (count: number) => {
  const made = await Promise.all([...Array(count)].map(() => create(client)));
  return made.map(({ id }) => id);
};

describe('DELETE /v2/deployments', () => {
  test('returns 200 with one result per deployment in the given order, for any spelling of an id', async () => {
    const [a = '', b = '', c = ''] = await ids(3);
    const answer = await remove([c, a, b, a, c.toUpperCase()]);
    expect(answer.status).toBe(200);
    expect(answer.body.resources).toEqual(
      [c, a, b].map((id) => ({ deployment_id: id, status: 204, detail: null })),
    );
    for (const id of [a, b, c]) expect(await status(id)).toBe('AWAITING_DELETE');
    expect((await remove([a, b])).status).toBe(200);
    const requested = await api.store.sql(
      `SELECT deployment_id, actor_kind FROM events WHERE reason = 'DeletionRequested' AND deployment_id = ANY($1) ORDER BY 1`,
      [[a, b, c]],
    );
    expect(requested).toEqual([a, b, c].sort().map((id) => ({ deployment_id: id, actor_kind: 'api_key' })));
  });

  test('returns 207 when some ids are unknown or of another tenant, and deletes the others', async () => {
    const [own = ''] = await ids(1);
    const stranger = await api.tenant();
    const foreign = (await create(stranger)).id;
    const none = uuidv7();
    const answer = await remove([foreign, own, none]);
    expect(answer.status).toBe(207);
    expect(answer.body.resources).toEqual([
      { deployment_id: foreign, status: 404, detail: 'The deployment does not exist.' },
      { deployment_id: own, status: 204, detail: null },
      { deployment_id: none, status: 404, detail: 'The deployment does not exist.' },
    ]);
    const kept = await stranger.call<Deployment>('GET', `/v2/deployments/${foreign}`);
    expect(kept.body.status).not.toBe('AWAITING_DELETE');
    expect((await remove([none])).status).toBe(207);
  });

  test('accepts 100 different ids and rejects 101, an empty list and invalid ids with 422', async () => {
    const many = [...Array(101)].map(() => uuidv7());
    expect((await remove([...many.slice(0, 100), ...many.slice(0, 50)])).status).toBe(207);
    for (const query of [
      `?deployment_ids=${many.join(',')}`,
      '',
      '?deployment_ids=',
      '?deployment_ids=a,b',
      '?deployment_ids=%2C',
    ]) {
      const answer = await client.call<{ detail: { loc: string[] }[] }>('DELETE', `/v2/deployments${query}`);
      expect(`${query.slice(0, 30)} ${answer.status}`).toBe(`${query.slice(0, 30)} 422`);
      expect(answer.body.detail[0]?.loc.slice(0, 2)).toEqual(['query', 'deployment_ids']);
    }
    const [own = ''] = await ids(1);
    expect((await remove([own], '&force=true')).status).toBe(422);
    expect(await status(own)).not.toBe('AWAITING_DELETE');
  });

  test('requests each deletion once without a deadlock when overlapping lists arrive at once in different orders', async () => {
    const all = await ids(12);
    const shuffled = [...Array(8)].map((_, turn) => [...all.slice(turn), ...all.slice(0, turn)].reverse());
    const answers = await Promise.all(shuffled.map((list) => remove(list, '&delete_tracing_project=true')));
    expect(answers.map((answer) => answer.status)).toEqual(Array(8).fill(200));
    const [count] = await api.store.sql(
      `SELECT count(*)::int AS n FROM events WHERE reason = 'DeletionRequested' AND deployment_id = ANY($1)`,
      [all],
    );
    expect(count).toEqual({ n: 12 });
    expect(api.store.logger.lines.filter(({ message }) => message === 'retrying a transaction')).toEqual([]);
  });

  test('returns 403 without the scope deployments:write', async () => {
    const reader = await api.client(client.tenantId, ['deployments:read']);
    expect((await remove([uuidv7()], '', reader)).status).toBe(403);
  });
});

describe('DELETE with force', () => {
  test('removes the record at once, keeps tombstone and history, and frees the name', async () => {
    const made = await create(client, { secrets: [{ name: 'A', value: '1' }] });
    const answer = await client.call('DELETE', `/v2/deployments/${made.id}?force=true`);
    expect(answer.status).toBe(204);
    expect((await client.call('GET', `/v2/deployments/${made.id}`)).status).toBe(404);
    expect((await client.call('DELETE', `/v2/deployments/${made.id}?force=true`)).status).toBe(404);
    const tombstones = await api.store.sql('SELECT due, env_revisions FROM tombstones WHERE id = $1', [
      made.id,
    ]);
    expect(tombstones).toEqual([{ due: true, env_revisions: [1] }]);
    const events = await api.store.sql(
      'SELECT reason, actor_kind FROM events WHERE deployment_id = $1 ORDER BY id',
      [made.id],
    );
    expect(events).toEqual(
      ['Created', 'DeletionRequested', 'Forgotten'].map((reason) => ({ reason, actor_kind: 'api_key' })),
    );
    expect((await create(client, { name: made.name })).name).toBe(made.name);
  });

  test('returns 403 and requests no deletion without the scope admin, as keep_workloads does', async () => {
    const [id = ''] = await ids(1);
    const writer = await api.client(client.tenantId, ['deployments:read', 'deployments:write']);
    for (const option of ['force', 'keep_workloads']) {
      const answer = await writer.call('DELETE', `/v2/deployments/${id}?${option}=true`);
      expect(answer).toMatchObject({ status: 403, body: { detail: expect.stringContaining('admin') } });
    }
    expect(await status(id)).not.toBe('AWAITING_DELETE');
  });

  test('leaves a tombstone for 60 days when the listener is live, and for 30 days when it is not', async () => {
    const [id = ''] = await ids(1);
    await client.call('DELETE', `/v2/deployments/${id}?force=true`);
    const aged = (tombstone: string, days: number) =>
      api.store.sql('UPDATE tombstones SET purged_at = now() - make_interval(days => $2) WHERE id = $1', [
        tombstone,
        days,
      ]);
    const kept = (tombstone = id) => api.store.sql('SELECT 1 FROM tombstones WHERE id = $1', [tombstone]);
    await aged(id, 31);
    const lease = (seconds: number) =>
      api.store.sql('UPDATE listeners SET lease_expires_at = now() + make_interval(secs => $1)', [seconds]);
    await lease(60);
    await sweep(api.store);
    expect(await kept()).toHaveLength(1);
    await lease(-60);
    await sweep(api.store);
    expect(await kept()).toHaveLength(0);

    const [other = ''] = await ids(1);
    await client.call('DELETE', `/v2/deployments/${other}?force=true`);
    await aged(other, 61);
    await lease(60);
    await sweep(api.store);
    expect(await kept(other)).toHaveLength(0);
  });
});

test('DELETE with keep_workloads is accepted within the grace period and returns 409 after it', async () => {
  const { id } = await create(client);
  const remove = (query = '') => client.call('DELETE', `/v2/deployments/${id}${query}`);
  const row = () =>
    api.store.sql(
      'SELECT keep_workloads AS kept, purge_after <= now() AS due FROM deployments WHERE id = $1',
      [id],
    );
  expect((await remove()).status).toBe(204);
  expect(await remove('?keep_workloads=true')).toMatchObject({
    status: 409,
    body: { detail: expect.stringContaining('can no longer be kept') },
  });
  expect(await row()).toEqual([{ kept: false, due: true }]);
  await api.store.sql(`UPDATE deployments SET purge_after = now() + interval '1 hour' WHERE id = $1`, [id]);
  expect((await remove('?keep_workloads=true')).status).toBe(204);
  expect(await row()).toEqual([{ kept: true, due: true }]);
  expect((await remove('?keep_workloads=true')).status).toBe(204);
  expect((await remove()).status).toBe(204);
  expect(await row()).toEqual([{ kept: true, due: true }]);
});

describe('the host of a deployment that was deleted with keep_workloads', () => {
  /** Routed in a cluster, then out of Berth, its route left where it is. */
  async function left(custom_url = `https://${uniqueName('kept')}.example.com`) {
    const source_config = { custom_url };
    const made = await create(client, { source_config });
    await api.store.sql(`UPDATE deployments SET spec_hash = 'x' WHERE id = $1`, [made.id]);
    expect((await client.call('DELETE', `/v2/deployments/${made.id}?keep_workloads=true`)).status).toBe(204);
    const gone = await api.store.database
      .forTenant(client.tenantId)
      .transaction((tx) => removeRecord(tx, client.tenantId, made.id, { kind: 'system' }));
    expect(gone).toBe(true);
    return { made, source_config, host: new URL(source_config.custom_url).hostname };
  }
  const force = (id: string) => client.call('DELETE', `/v2/deployments/${id}?force=true`);
  const lastEvent = async (id: string) =>
    (
      await api.store.sql<{ reason: string; message: string; details: object }>(
        'SELECT reason, message, details FROM events WHERE deployment_id = $1 ORDER BY id DESC LIMIT 1',
        [id],
      )
    )[0];

  test('stays reserved, and other tenants get 409 with the reason, until a deletion with force', async () => {
    const { made, source_config, host } = await left();
    expect(await lastEvent(made.id)).toMatchObject({
      reason: 'Deleted',
      message: expect.stringContaining('Berth no longer manages'),
      details: { kept_hosts: [host] },
    });
    const stranger = await api.tenant();
    const other = await create(stranger);
    const patch = () => stranger.call('PATCH', `/v2/deployments/${other.id}`, { source_config });
    expect(await patch()).toMatchObject({
      status: 409,
      body: { detail: expect.stringMatching(/custom_url.*workloads of another tenant that Berth no longer manages.*The administrator of the platform can free the host/) },
    });
    expect((await stranger.call('DELETE', `/v2/deployments/${made.id}?force=true`)).status).toBe(404);
    expect((await patch()).status).toBe(409);
    expect((await force(made.id)).status).toBe(204);
    expect(await lastEvent(made.id)).toMatchObject({ reason: 'Forgotten', details: { freed_hosts: [host] } });
    expect((await patch()).status).toBe(200);
    expect((await force(made.id)).status).toBe(404);
  });

  test('is available to its own tenant, and stays reserved when that tenant gives it up again', async () => {
    const { made, source_config } = await left();
    const again = await create(client, { source_config });
    const cleared = { source_config: { custom_url: null } };
    expect((await client.call('PATCH', `/v2/deployments/${again.id}`, cleared)).status).toBe(200);
    const stranger = await api.tenant();
    const other = await create(stranger);
    const patch = () => stranger.call('PATCH', `/v2/deployments/${other.id}`, { source_config });
    expect((await patch()).status).toBe(409);
    expect((await force(made.id)).status).toBe(204);
    expect((await patch()).status).toBe(200);
  });

  test('stays reserved, and blocks deletion of its tenant, until both former deployments are deleted with force', async () => {
    const first = await left();
    const second = await left(first.source_config.custom_url);
    expect(await lastEvent(second.made.id)).toMatchObject({ details: { kept_hosts: [first.host] } });
    const stranger = await api.tenant();
    const other = await create(stranger);
    const patch = async () => {
      const { source_config } = first;
      return (await stranger.call('PATCH', `/v2/deployments/${other.id}`, { source_config })).status;
    };
    expect((await force(first.made.id)).status).toBe(204);
    expect(await patch()).toBe(409);
    const platform = await api.client(null, ['admin']);
    const { body } = await platform.call<{ detail: string }>('DELETE', `/v2/tenants/${client.tenantId}`);
    expect(body.detail).toMatch(/ former deployments? whose workloads were kept/);
    expect((await force(second.made.id)).status).toBe(204);
    expect(await patch()).toBe(200);
  });

  test('is free at once when the deployment never reached a cluster', async () => {
    const source_config = { custom_url: `https://${uniqueName('free')}.example.com` };
    const made = await create(client, { source_config });
    await client.call('DELETE', `/v2/deployments/${made.id}?keep_workloads=true`);
    await api.store.database
      .forTenant(client.tenantId)
      .transaction((tx) => removeRecord(tx, client.tenantId, made.id, { kind: 'system' }));
    await create(await api.tenant(), { source_config });
    // What is left to be given up is the right to pull its images.
    expect([(await force(made.id)).status, (await force(made.id)).status]).toEqual([204, 404]);
  });
});

describe('the tracing project that deployments of the same name share', () => {
  const ask = (id: string, wanted: boolean) =>
    client.call('DELETE', `/v2/deployments/${id}?delete_tracing_project=${wanted}`);
  /** The cluster is clean of it. */
  const gone = (id: string) =>
    api.store.database
      .forTenant(client.tenantId)
      .transaction((tx) => removeRecord(tx, client.tenantId, id, { kind: 'system' }));
  const project = async (id: string) =>
    (await api.store.sql('SELECT 1 FROM tracing_projects WHERE id = $1', [id])).length > 0;

  // Whose word: the older one's, the newer one's; then whether the project is still there at the end.
  test.each([
    [false, true, false],
    [true, false, true],
    [true, true, false],
    [false, false, true],
  ])(
    'follows the deletion of the newer one, in any order (older: %s, newer: %s, kept: %s)',
    async (older, newer, kept) => {
      for (const newerFirst of [true, false]) {
        const a = await create(client);
        await ask(a.id, older);
        const b = await create(client, { name: a.name });
        expect(b.tracing_project_id).toBe(a.tracing_project_id);
        await ask(b.id, newer);
        const [first, last] = newerFirst ? [b, a] : [a, b];
        await gone(first.id);
        expect(await project(a.tracing_project_id)).toBe(true);
        await gone(last.id);
        expect(await project(a.tracing_project_id)).toBe(kept);
      }
    },
  );

  test('is deleted when the older one requests it again after the deletion of the newer one', async () => {
    for (const newerFirst of [true, false]) {
      const a = await create(client);
      await ask(a.id, false);
      const b = await create(client, { name: a.name });
      await ask(b.id, false);
      await ask(a.id, true);
      for (const { id } of newerFirst ? [b, a] : [a, b]) await gone(id);
      expect(await project(a.tracing_project_id)).toBe(false);
    }
  });

  test('is kept while another deployment uses it, and follows the deletion of that one', async () => {
    const a = await create(client);
    await ask(a.id, true);
    const b = await create(client, { name: a.name });
    await ask(a.id, true);
    await gone(a.id);
    expect(await project(a.tracing_project_id)).toBe(true);
    await ask(b.id, false);
    await gone(b.id);
    expect(await project(a.tracing_project_id)).toBe(true);
  });

  test('is kept exactly while it is used when deletions, a POST and a removal run at once', async () => {
    for (let round = 0; round < 6; round += 1) {
      const name = uniqueName('shared');
      const a = await create(client, { name });
      await ask(a.id, true);
      const [b] = await Promise.all([
        create(client, { name }),
        gone(a.id),
        remove([a.id], '&delete_tracing_project=true'),
      ]);
      expect(await project(b.tracing_project_id)).toBe(true);
      await Promise.all([ask(b.id, true), remove([b.id], '&delete_tracing_project=true')]);
      await gone(b.id);
      expect(await project(b.tracing_project_id)).toBe(false);
    }
  });
});
