/** Which keys seal what, and how everything comes under a new one; in every table, beside others who write. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { uuidv7 } from '../../../../src/domain/core/id.ts';
import { findDeployment } from '../../../../src/hub/store/deployments/deployments.ts';
import {
  answersOfOtherKeys,
  keyUses,
  resealBatch,
  SEALED_TABLES,
  unusableKeys,
} from '../../../../src/hub/store/secrets/sealed-tables.ts';
import {
  createSecretBox,
  type EncryptionKey,
  integrationContext,
  openSecrets,
  type SecretBox,
  webhookContext,
} from '../../../../src/hub/store/secrets/secret-box.ts';
import { insert, newTenant, type StoreFixture, startStore } from '../../harness/store.ts';

let store: StoreFixture;
beforeAll(async () => {
  store = await startStore();
});
afterAll(() => store.stop());
beforeEach(async () => {
  await store.sql('DELETE FROM secret_sets');
  await store.sql('DELETE FROM integrations');
});

const key = (id: string): EncryptionKey => ({ id, key: randomBytes(32) });
const [old, next] = [key('old'), key('next')];
const boxOf = (...keys: EncryptionKey[]): SecretBox => createSecretBox({ keys, primary: keys[0]?.id ?? '' });

/** Deployments with secrets and one integration, of one tenant, sealed by `box`. */
async function seed(box: SecretBox, count: number) {
  const { tenantId, scope } = await newTenant(store);
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const { id } = await insert({ ...store, box }, tenantId, `shop-${n}`, {
      secrets: [{ name: 'A', value: `value-${n}` }],
    });
    ids.push(id);
  }
  const integration = { id: uuidv7(), tenantId };
  const { keyId, sealed } = box.seal(Buffer.from('token'), integrationContext(integration));
  await store.sql(
    `INSERT INTO integrations (id, tenant_id, name, provider, host_url, key_id, sealed)
     VALUES ($1, $2, 'git', 'github', 'https://git.example.com', $3, $4)`,
    [integration.id, tenantId, keyId, sealed],
  );
  const read = async (id: string, reading: SecretBox) =>
    openSecrets(
      reading,
      (await scope.read((reader) => findDeployment(reader, tenantId, id)))?.secrets ?? null,
    );
  return { tenantId, ids, read };
}

const batch = (box: SecretBox, table: string, after: string | null, limit: number) =>
  store.database.platform.transaction((tx) => resealBatch(tx, box, table, { after, limit }));
const uses = () => store.database.platform.read(keyUses);
const unusable = (box: SecretBox) => store.database.platform.read((reader) => unusableKeys(reader, box));

/** Breaks the sealed value of a deployment. */
const damage = (deploymentId: string) =>
  store.sql(
    `UPDATE secret_sets SET sealed = set_byte(sealed, 20, get_byte(sealed, 20) # 1) WHERE deployment_id = $1`,
    [deploymentId],
  );

describe('resealing', () => {
  test('covers the tables in batches, and makes the old key unnecessary', async () => {
    const { ids, read } = await seed(boxOf(old), 5);
    const both = boxOf(next, old);
    const steps: number[] = [];
    for (const table of SEALED_TABLES) {
      for (let after: string | null = null, last = false; !last; ) {
        const done = await batch(both, table, after, 2);
        steps.push(done.resealed);
        after = done.next;
        last = done.next === null;
      }
    }
    // The last: no integration has a secret for webhooks.
    expect(steps).toEqual([2, 2, 1, 1, 0]);
    expect(await uses()).toEqual([
      { table: 'integrations', keyId: 'next', rows: 1 },
      { table: 'secret_sets', keyId: 'next', rows: 5 },
    ]);
    for (const [n, id] of ids.entries())
      expect(await read(id, boxOf(next))).toEqual([{ name: 'A', value: `value-${n}` }]);
    const [row] = await store.sql<{ id: string; tenantId: string; sealed: Buffer }>(
      'SELECT id, tenant_id AS "tenantId", sealed FROM integrations',
    );
    expect(row && boxOf(next).open(row.sealed, 'next', integrationContext(row)).toString()).toBe('token');
  });

  test('covers the secret of webhooks, which opens only in its own context', async () => {
    await seed(boxOf(old), 0);
    const [row] = await store.sql<{ id: string; tenantId: string }>(
      'SELECT id, tenant_id AS "tenantId" FROM integrations',
    );
    if (row === undefined) throw new Error('there is an integration');
    const { keyId, sealed } = boxOf(old).seal(Buffer.from('hook'), webhookContext(row));
    await store.sql('UPDATE integrations SET webhook_key_id = $2, webhook_sealed = $3 WHERE id = $1', [
      row.id,
      keyId,
      sealed,
    ]);
    expect(await unusable(boxOf(next))).toContainEqual({
      table: 'integrations.webhook',
      keyId: 'old',
      problem: 'missing',
    });
    for (const table of SEALED_TABLES) await batch(boxOf(next, old), table, null, 10);
    expect(await uses()).toEqual([
      { table: 'integrations', keyId: 'next', rows: 1 },
      { table: 'integrations.webhook', keyId: 'next', rows: 1 },
    ]);
    const [after] = await store.sql<{ sealed: Buffer }>('SELECT webhook_sealed AS sealed FROM integrations');
    const open = (context: string) => boxOf(next).open(after?.sealed ?? Buffer.alloc(0), 'next', context);
    expect(open(webhookContext(row)).toString()).toBe('hook');
    expect(() => open(integrationContext(row))).toThrow();
  });

  test('handles each row once when several batches run at once', async () => {
    await seed(boxOf(old), 20);
    const both = boxOf(next, old);
    const done = await Promise.all(Array.from({ length: 4 }, () => batch(both, 'secret_sets', null, 100)));
    expect(done.reduce((sum, { resealed }) => sum + resealed, 0)).toBe(20);
    expect((await uses()).filter(({ table }) => table === 'secret_sets')).toEqual([
      { table: 'secret_sets', keyId: 'next', rows: 20 },
    ]);
  });

  test('names a row that cannot be decrypted, leaves it unchanged, and continues', async () => {
    const { ids } = await seed(boxOf(old), 3);
    await damage(ids[0] ?? '');
    const [broken] = await store.sql<{ id: string; sealed: Buffer }>(
      'SELECT id, sealed FROM secret_sets WHERE deployment_id = $1',
      [ids[0]],
    );
    const done = await batch(boxOf(next, old), 'secret_sets', null, 2);
    expect(done).toEqual({ resealed: 1, unreadable: [broken?.id], next: expect.any(String) });
    expect(await batch(boxOf(next, old), 'secret_sets', done.next, 2)).toMatchObject({
      resealed: 1,
      next: null,
    });
    expect(await store.sql('SELECT id, sealed FROM secret_sets WHERE key_id = $1', ['old'])).toEqual([
      broken,
    ]);
  });
});

describe('the check of keys at startup', () => {
  test('reports nothing with the right keys, and nothing with an empty database', async () => {
    expect(await unusable(boxOf(next))).toEqual([]);
    await seed(boxOf(old), 2);
    await seed(boxOf(next), 2);
    expect(await unusable(boxOf(next, old))).toEqual([]);
  });

  test('names a key that is missing, and a key with other bytes', async () => {
    await seed(boxOf(old), 2);
    expect(await unusable(boxOf(next))).toEqual([
      { table: 'secret_sets', keyId: 'old', problem: 'missing' },
      { table: 'integrations', keyId: 'old', problem: 'missing' },
    ]);
    expect(await unusable(boxOf(next, key('old')))).toEqual([
      { table: 'secret_sets', keyId: 'old', problem: 'wrong' },
      { table: 'integrations', keyId: 'old', problem: 'wrong' },
    ]);
  });

  test('does not report a wrong key for one damaged row', async () => {
    const { ids } = await seed(boxOf(old), 2);
    await damage(ids[0] ?? '');
    expect(await unusable(boxOf(old))).toEqual([]);
  });
});

test('responses of Idempotency-Keys under another encryption key are counted until they expire', async () => {
  const { tenantId } = await newTenant(store);
  const remember = (name: string, fingerprint: string, age: string) =>
    store.sql(
      `INSERT INTO idempotency_keys (tenant_id, key, operation, fingerprint, status_code, deployment_id, expires_at)
       VALUES ($1, $2, 'POST /v2/deployments', $3, 201, $4, now() + $5::interval)`,
      [tenantId, name, fingerprint, uuidv7(), age],
    );
  await remember('a', boxOf(old).fingerprint('body'), '1 hour');
  await remember('b', boxOf(old).fingerprint('body'), '-1 hour');
  await remember('c', boxOf(next).fingerprint('body'), '1 hour');
  const found = await store.database.platform.read((reader) => answersOfOtherKeys(reader, boxOf(next, old)));
  expect(found).toEqual([{ keyId: 'old', rows: 1, until: expect.any(Date) }]);
});

test('the key rotation covers every table with sealed values', async () => {
  const rows = await store.sql<{ name: string }>(
    `SELECT table_name || CASE WHEN column_name = 'sealed' THEN '' ELSE '.' || replace(column_name, '_sealed', '') END AS name
     FROM information_schema.columns WHERE column_name LIKE '%sealed' AND table_schema = 'public'`,
  );
  expect(rows.map(({ name }) => name).sort()).toEqual([...SEALED_TABLES].sort());
});
