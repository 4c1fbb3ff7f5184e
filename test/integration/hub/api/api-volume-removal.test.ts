/** The removal of the volume of a database: until when its owner can take it back, and when it ends. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApplyWork, WorkItem } from '../../../../src/contract/protocol/work-protocol.ts';
import { PLATFORM_LISTENER_ID } from '../../../../src/domain/deployment/source.ts';
import { type ApiFixture, type Client, create, type Deployment, startApi } from '../../harness/api.ts';

const HUB = `/v2/listeners/${PLATFORM_LISTENER_ID}`;
const REMOVED = { enabled: false, remove_volume: true };

let api: ApiFixture;
let client: Client;
let platform: Client;
let epoch: number;
beforeAll(async () => {
  api = await startApi();
  [client, platform] = await Promise.all([api.tenant(), api.client(null, ['listeners:run'])]);
  const lease = { holder: 'test', version: '1', cluster_version: 'v1.36.0', rendering: null, epoch: null };
  ({ epoch } = (await platform.call<{ epoch: number }>('PUT', `${HUB}/lease`, lease)).body);
});
afterAll(() => api.stop());

interface Changed extends Deployment {
  effects: string[];
  detail: string;
}
const patch = (id: string, source_config: object, query = '') =>
  client.call<Changed>('PATCH', `/v2/deployments/${id}${query}`, { source_config });
const database = async (id: string) =>
  (
    (await client.call<Deployment>('GET', `/v2/deployments/${id}`)).body.source_config as {
      database?: object;
    }
  ).database;
const generationOf = async (id: string) => {
  const [row] = await api.store.sql<{ generation: number }>(
    'SELECT generation FROM deployments WHERE id = $1',
    [id],
  );
  return row?.generation ?? 0;
};

/** The call of a listener whose custom resource has this generation. */
const removal = (id: string, generation: number, claim: 'unused' | 'gone' = 'unused', claim_uid = 'claim') =>
  platform.call<{ permitted: boolean }>('POST', `${HUB}/volume-removals`, {
    epoch,
    deployment_id: id,
    generation,
    claim_uid,
    claim,
  });
const isPermitted = async (...call: Parameters<typeof removal>) => (await removal(...call)).body.permitted;

/** A deployment whose owner has confirmed the removal, with its generation. */
async function confirmed() {
  const { id } = await create(client);
  expect((await patch(id, { database: REMOVED })).status).toBe(200);
  return { id, generation: await generationOf(id) };
}

async function itemOf(id: string): Promise<ApplyWork> {
  const { body } = await platform.call<{ items: WorkItem[] }>(
    'GET',
    `${HUB}/work?epoch=${epoch}&lost=true&limit=100`,
  );
  return body.items.find(({ deployment_id }) => deployment_id === id) as ApplyWork;
}

describe('a confirmed removal', () => {
  test.each([[{ enabled: true }], [{ remove_volume: false }], [null]])(
    'is not permitted after its owner has taken it back with %j',
    async (database) => {
      const { id, generation } = await confirmed();
      const dry = await patch(id, { database }, '?dry_run=true');
      expect(dry.status).toBe(200);
      expect((await patch(id, { database })).status).toBe(200);
      expect(await isPermitted(id, generation)).toBe(false);
      expect(await isPermitted(id, generation + 1)).toBe(false);
    },
  );

  test('is not permitted for an earlier generation, even if the latest one confirms it again', async () => {
    const { id, generation } = await confirmed();
    await patch(id, { database: { remove_volume: false } });
    await patch(id, { database: { remove_volume: true } });
    expect(await isPermitted(id, generation)).toBe(false);
    expect(await isPermitted(id, generation + 2)).toBe(true);
  });

  test('cannot be taken back when it has begun, and a dry run says so', async () => {
    const { id, generation } = await confirmed();
    expect(await isPermitted(id, generation)).toBe(true);
    for (const query of ['', '?dry_run=true']) {
      for (const database of [{ enabled: true }, { remove_volume: false }, null]) {
        const answer = await patch(id, { database }, query);
        expect(answer.status).toBe(409);
        expect(answer.body.detail).toMatch(/has begun and cannot be taken back/);
      }
    }
    expect(await database(id)).toEqual(REMOVED);
  });

  test('that has begun stays permitted for its claim in later generations, and for no other claim', async () => {
    const { id, generation } = await confirmed();
    expect(await isPermitted(id, generation)).toBe(true);
    expect((await patch(id, { cache: { enabled: false } })).status).toBe(200);
    expect(await isPermitted(id, generation)).toBe(true);
    expect(await isPermitted(id, generation + 1, 'unused', 'restored')).toBe(false);
    expect(await itemOf(id)).toMatchObject({ claim_to_remove: 'claim' });
  });

  test('has one result when it is taken back at the moment at which it begins', async () => {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const { id, generation } = await confirmed();
      const [permitted, { status }] = await Promise.all([
        isPermitted(id, generation),
        patch(id, { database: { enabled: true } }),
      ]);
      expect(status).toBe(permitted ? 409 : 200);
    }
  });

  test('is not permitted while the deployment is being deleted, or to a former listener', async () => {
    const { id, generation } = await confirmed();
    epoch -= 1;
    expect((await removal(id, generation)).status).toBe(409);
    epoch += 1;
    await client.call('DELETE', `/v2/deployments/${id}`);
    expect(await isPermitted(id, generation)).toBe(false);
    expect(await isPermitted(id, generation + 1)).toBe(false);
  });

  test('ends when the claim is gone, so that a later database starts empty and its volume stays', async () => {
    const { id, generation } = await confirmed();
    expect(await isPermitted(id, generation)).toBe(true);
    expect((await removal(id, generation, 'gone', 'another')).status).toBe(200);
    expect(await database(id)).toEqual(REMOVED);
    expect((await removal(id, generation, 'gone')).body).toEqual({ permitted: false });
    expect(await database(id)).toEqual({ enabled: false });
    expect(await generationOf(id)).toBe(generation + 1);
    const { spec, claim_to_remove: noted } = await itemOf(id);
    expect([spec.generation, spec.database?.removeVolume, noted]).toEqual([
      generation + 1,
      undefined,
      undefined,
    ]);
    expect(await api.store.sql("SELECT reason FROM events WHERE reason = 'VolumeRemoved'")).toHaveLength(1);
    // The report is repeated when its response was lost.
    await removal(id, generation, 'gone');
    expect(await generationOf(id)).toBe(generation + 1);
    const { status, body } = await patch(id, { database: { enabled: true } }, '?dry_run=true');
    expect([status, body.effects]).toEqual([200, ['The database is created with an empty volume.']]);
  });
});

describe('the end of a removal', () => {
  test('keeps the reported size of the volume, and names the listener and the confirmed claim only', async () => {
    const { id, generation } = await confirmed();
    await api.store.sql('UPDATE deployments SET volume_gi = 7 WHERE id = $1', [id]);
    await removal(id, generation, 'gone');
    expect(await database(id)).toEqual({ enabled: false });
    expect(await api.store.sql('SELECT volume_gi FROM deployments WHERE id = $1', [id])).toEqual([
      { volume_gi: 7 },
    ]);
    const { body } = await client.call<{ updated_by: object }>('GET', `/v2/deployments/${id}`);
    expect(body.updated_by).toEqual({ kind: 'listener', id: PLATFORM_LISTENER_ID, name: null });
    const messages = await api.store.sql(
      "SELECT message FROM events WHERE deployment_id = $1 AND reason = 'VolumeRemoved'",
      [id],
    );
    expect(messages).toEqual([
      {
        message:
          'The volume claim whose removal was confirmed no longer exists. database.remove_volume was reset.',
      },
    ]);
  });
});

describe('a restore of the hub from a backup', () => {
  const inventory = async (id: string, generation: number) => {
    const { name, namespace, spec_hash } = await itemOf(id);
    const item = {
      deployment_id: id,
      name,
      namespace,
      uid: 'u',
      generation,
      spec_hash,
      applied_hash: spec_hash,
    };
    return platform.call('POST', `${HUB}/inventory`, { epoch, complete: false, items: [item] });
  };

  test('drops a confirmation that was carried out or taken back since then', async () => {
    const { id, generation } = await confirmed();
    expect((await inventory(id, generation + 5)).status).toBe(200);
    expect(await database(id)).toEqual({ enabled: false });
    expect(await generationOf(id)).toBe(generation + 6);
    expect((await itemOf(id)).spec.database).not.toHaveProperty('removeVolume');
    expect(await isPermitted(id, generation + 6)).toBe(false);
  });

  test('keeps a removal that had begun, which applies to one claim only', async () => {
    const { id, generation } = await confirmed();
    expect(await isPermitted(id, generation)).toBe(true);
    await inventory(id, generation + 5);
    expect(await itemOf(id)).toMatchObject({ claim_to_remove: 'claim', generation: generation + 6 });
    expect(await isPermitted(id, generation + 6, 'unused', 'later')).toBe(false);
    await removal(id, generation + 6, 'gone');
    expect(await database(id)).toEqual({ enabled: false });
  });
});
