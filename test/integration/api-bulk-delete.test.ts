/** Deletion of several at once, by force, and whose word on the tracing project counts. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { uuidv7 } from '../../src/domain/id.ts';
import { removeRecord } from '../../src/store/deployments.ts';
import {
  type ApiFixture,
  type Client,
  create,
  type Deployment,
  startApi,
  uniqueName,
} from './harness/api.ts';

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
  test('200 when all exist; each one once, in the order given, whatever its spelling', async () => {
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

  test('207 when some do not, or are another tenant’s; the others go', async () => {
    const [own = ''] = await ids(1);
    const stranger = await api.tenant();
    const foreign = (await create(stranger)).id;
    const none = uuidv7();
    const answer = await remove([foreign, own, none]);
    expect(answer.status).toBe(207);
    expect(answer.body.resources).toEqual([
      { deployment_id: foreign, status: 404, detail: 'There is no such deployment.' },
      { deployment_id: own, status: 204, detail: null },
      { deployment_id: none, status: 404, detail: 'There is no such deployment.' },
    ]);
    const kept = await stranger.call<Deployment>('GET', `/v2/deployments/${foreign}`);
    expect(kept.body.status).not.toBe('AWAITING_DELETE');
    expect((await remove([none])).status).toBe(207);
  });

  test('100 different ids are taken, 101 are a 422, as are none and ones that are no ids', async () => {
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

  test('overlapping ones at once, in different orders: each deployment is asked for once, nobody waits for ever', async () => {
    const all = await ids(12);
    const shuffled = [...Array(8)].map((_, turn) => [...all.slice(turn), ...all.slice(0, turn)].reverse());
    const answers = await Promise.all(shuffled.map((list) => remove(list, '&delete_tracing_project=true')));
    expect(answers.map((answer) => answer.status)).toEqual(Array(8).fill(200));
    const [count] = await api.store.sql(
      `SELECT count(*)::int AS n FROM events WHERE reason = 'DeletionRequested' AND deployment_id = ANY($1)`,
      [all],
    );
    expect(count).toEqual({ n: 12 });
    expect(api.store.logger.lines.filter(({ message }) => message === 'running a transaction again')).toEqual(
      [],
    );
  });

  test('needs deployments:write', async () => {
    const reader = await api.client(client.tenantId, ['deployments:read']);
    expect((await remove([uuidv7()], '', reader)).status).toBe(403);
  });
});

describe('force', () => {
  test('forgets at once: the record goes, tombstone and history stay, the name is free', async () => {
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

  test('needs the scope admin; without it nothing is asked for', async () => {
    const [id = ''] = await ids(1);
    const writer = await api.client(client.tenantId, ['deployments:read', 'deployments:write']);
    const answer = await writer.call('DELETE', `/v2/deployments/${id}?force=true`);
    expect(answer).toMatchObject({ status: 403, body: { detail: expect.stringContaining('admin') } });
    expect(await status(id)).not.toBe('AWAITING_DELETE');
  });

  test('a tombstone that is due is kept while its listener lives, and no longer than 30 days if it does not', async () => {
    const { sweep } = await import('../../src/store/housekeeping.ts');
    const [id = ''] = await ids(1);
    await client.call('DELETE', `/v2/deployments/${id}?force=true`);
    await api.store.sql(`UPDATE tombstones SET purged_at = now() - interval '31 days' WHERE id = $1`, [id]);
    const kept = () => api.store.sql('SELECT 1 FROM tombstones WHERE id = $1', [id]);
    const lease = (seconds: number) =>
      api.store.sql('UPDATE listeners SET lease_expires_at = now() + make_interval(secs => $1)', [seconds]);
    await lease(60);
    await api.store.database.platform.transaction(sweep);
    expect(await kept()).toHaveLength(1);
    await lease(-60);
    await api.store.database.platform.transaction(sweep);
    expect(await kept()).toHaveLength(0);
  });
});

describe('the tracing project that deployments of one name have shared', () => {
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
    'asked for with the older one: %s, with the newer one: %s; kept in the end: %s, whichever goes first',
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

  test('asked for again of the older one, after the newer one was deleted: it counts for both', async () => {
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

  test('a deployment that lives keeps it, and its own deletion decides', async () => {
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

  test('bulk and single deletions, a POST and the end of a record at once: kept exactly while it is used', async () => {
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
