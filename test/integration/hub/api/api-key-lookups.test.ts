/** What calls with keys that do not exist cost the database. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../../../src/hub/store/core/database.ts';
import { createApiKey, ensureBootstrap, generateApiKey } from '../../../../src/hub/store/tenancy/api-keys.ts';
import { type ApiFixture, startApi } from '../../harness/api.ts';

let api: ApiFixture;
let reads = 0;
beforeAll(async () => {
  const other = await startApi();
  const { database } = other.store;
  const counting: Database = {
    ...database,
    forPlatform: (group) => ({
      ...database.forPlatform(group),
      read: (work) => {
        reads += 1;
        return database.forPlatform(group).read(work);
      },
    }),
  };
  const app = await startApi({ deps: { database: counting } });
  const stop = async () => {
    await app.stop();
    await other.stop();
  };
  api = { ...app, store: other.store, stop };
});
afterAll(() => api.stop());

const statusWith = async (key: string) =>
  (await api.app.inject({ url: '/v2/deployments', headers: { 'x-api-key': key } })).statusCode;

describe('a key that does not exist', () => {
  test('is not looked up individually when it does not have the form of a Berth key', async () => {
    reads = 0;
    const odd = Array.from({ length: 50 }, (_, index) => `guess-${index}`);
    expect(new Set(await Promise.all([...odd, 'berth_short'].map(statusWith)))).toEqual(new Set([401]));
    expect(reads).toBeLessThanOrEqual(1);
  });

  test('is looked up once and not for each request', async () => {
    const key = generateApiKey();
    expect(await statusWith(key)).toBe(401);
    reads = 0;
    expect(await statusWith(key)).toBe(401);
    expect(reads).toBe(0);
  });
});

describe('a key that exists', () => {
  test('works immediately after its creation', async () => {
    const { key } = await api.store.database.platform.transaction((tx) =>
      createApiKey(tx, { tenantId: null, name: 'new', scopes: ['deployments:read'] }),
    );
    // A key of the platform names no tenant: let in, and asked for one.
    expect(await statusWith(key)).toBe(422);
  });
});

test.each(['a'.repeat(64), 'berth_from-a-configuration'])(
  'a configured key works in any form: %s',
  async (key) => {
    const fixture = await startApi();
    try {
      await fixture.store.database.platform.transaction((tx) =>
        ensureBootstrap(tx, { tenantName: 'first', key }),
      );
      const answer = await fixture.app.inject({ url: '/v2/deployments', headers: { 'x-api-key': key } });
      expect(answer.statusCode).toBe(200);
    } finally {
      await fixture.stop();
    }
  },
);
