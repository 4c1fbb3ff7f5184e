/** Idempotency-Keys, what is swept when it has outlived its use, and the rotation of the encryption key. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { uuidv7 } from '../../../../src/domain/core/id.ts';
import { PLATFORM_LISTENER_ID } from '../../../../src/domain/deployment/source.ts';
import type { Transaction } from '../../../../src/hub/store/core/database.ts';
import { UniqueViolation } from '../../../../src/hub/store/core/errors.ts';
import { EXPIRED, housekeep } from '../../../../src/hub/store/core/housekeeping.ts';
import { claimIdempotencyKey } from '../../../../src/hub/store/core/idempotency.ts';
import { findDeployment, insertDeployment } from '../../../../src/hub/store/deployments/deployments.ts';
import { resealBatch } from '../../../../src/hub/store/secrets/sealed-tables.ts';
import { createSecretBox, openSecrets } from '../../../../src/hub/store/secrets/secret-box.ts';
import {
  insert,
  newDeployment,
  newTenant,
  recordingLogger,
  type StoreFixture,
  startStore,
  sweep,
} from '../../harness/store.ts';

let store: StoreFixture;
beforeAll(async () => {
  store = await startStore();
});
afterAll(() => store.stop());

describe('an Idempotency-Key', () => {
  const operation = 'POST /v2/deployments';

  /** A POST with an Idempotency-Key, as the API does it. */
  async function post(tenantId: string, key: string, body: string, name: string) {
    const added = newDeployment(name);
    return store.database.forTenant(tenantId).transaction(async (tx) => {
      const answer = { statusCode: 201, deploymentId: added.id };
      const outcome = await claimIdempotencyKey(tx, store.box, tenantId, { key, operation, body }, answer);
      if (outcome.kind === 'first') await insertDeployment(tx, store.box, tenantId, added);
      return outcome.kind === 'repeated'
        ? outcome.answer.deploymentId
        : outcome.kind === 'first'
          ? added.id
          : null;
    });
  }

  test('creates one deployment with one response when the same request arrives many times at once', async () => {
    const { tenantId } = await newTenant(store);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => post(tenantId, 'k', '{"a":1}', 'shop')),
    );
    expect(new Set(answers).size).toBe(1);
    expect(await store.sql('SELECT id FROM deployments WHERE tenant_id = $1', [tenantId])).toEqual([
      { id: answers[0] },
    ]);
    expect(await post(tenantId, 'k', '{"a":2}', 'shop')).toBeNull();
  });

  test('is not used up by a failed request, and is separate for each tenant', async () => {
    const [tenant, other] = [await newTenant(store), await newTenant(store)];
    await insert(store, tenant.tenantId, 'taken');
    await expect(post(tenant.tenantId, 'k', '{}', 'taken')).rejects.toBeInstanceOf(UniqueViolation);
    const id = await post(tenant.tenantId, 'k', '{"name":"free"}', 'free');
    expect(id).not.toBeNull();
    expect(await post(other.tenantId, 'k', '{}', 'free')).not.toBe(id);
  });

  test('is stored without a readable body, and is free and removed after 24 hours', async () => {
    const { tenantId } = await newTenant(store);
    await post(tenantId, 'k', 'canary-77', 'one');
    const [row] = await store.sql<{ text: string }>(
      'SELECT i::text AS text FROM idempotency_keys i WHERE tenant_id = $1',
      [tenantId],
    );
    expect(row?.text).not.toContain('canary-77');
    const expire = () =>
      store.sql(`UPDATE idempotency_keys SET expires_at = now() - interval '1 second' WHERE tenant_id = $1`, [
        tenantId,
      ]);
    await expire();
    expect(await post(tenantId, 'k', 'other', 'two')).not.toBeNull();
    await expire();
    await store.sql(
      `INSERT INTO tombstones (id, tenant_id, listener_id, name, app_name, namespace, generation, purged_at)
       SELECT $2::uuid, $1::uuid, $3::uuid, 'old', 'old', 'apps', 2, now() - interval '31 days'
       UNION ALL SELECT $4::uuid, $1::uuid, $3::uuid, 'new', 'new', 'apps', 2, now() - interval '29 days'`,
      [tenantId, uuidv7(), PLATFORM_LISTENER_ID, uuidv7()],
    );
    await sweep(store);
    expect(await store.sql('SELECT 1 FROM idempotency_keys WHERE tenant_id = $1', [tenantId])).toEqual([]);
    expect(await store.sql('SELECT name FROM tombstones WHERE tenant_id = $1', [tenantId])).toEqual([
      { name: 'new' },
    ]);
  });
});

describe('housekeeping', () => {
  const keys = async (count: number) => {
    const { tenantId } = await newTenant(store);
    await store.sql(
      `INSERT INTO idempotency_keys (tenant_id, key, operation, fingerprint, status_code, deployment_id, expires_at)
       SELECT $1, n::text, 'POST', '', 201, gen_random_uuid(), now() - interval '1 second' FROM generate_series(1, $2::int) n`,
      [tenantId, count],
    );
    const left = () => store.sql('SELECT 1 FROM idempotency_keys WHERE tenant_id = $1', [tenantId]);
    return { left };
  };

  test('removes expired rows in portions until none is left, and skips locked rows', async () => {
    const { left } = await keys(1_200);
    const [answers] = EXPIRED;
    if (answers === undefined) throw new Error('there is nothing to sweep');
    expect(await store.database.platform.transaction(answers.portion)).toBe(500);
    await store.database.platform.transaction(async (tx) => {
      await tx.query('SELECT 1 FROM idempotency_keys ORDER BY key LIMIT 1 FOR UPDATE');
      await sweep(store);
      expect(await left()).toHaveLength(1);
    });
    await sweep(store);
    expect(await left()).toHaveLength(0);
  });

  test('logs a failed task and runs the others', async () => {
    const { left } = await keys(1);
    const failing = {
      what: 'what takes too long',
      portion: async (tx: Transaction) => (await tx.query('SELECT 1/0')).length,
    };
    const logger = recordingLogger();
    const { platform } = store.database;
    await housekeep(platform, [failing, ...EXPIRED], logger, new AbortController().signal);
    expect(logger.lines).toMatchObject([{ level: 'warn', fields: { what: 'what takes too long' } }]);
    expect(await left()).toHaveLength(0);
  });
});

test('a key rotation keeps secrets readable, in the end with the new key alone', async () => {
  const { tenantId, scope } = await newTenant(store);
  const old = { id: 'old', key: randomBytes(32) };
  const next = { id: 'next', key: randomBytes(32) };
  const secrets = [{ name: 'A', value: '1' }];
  const id = uuidv7();
  await scope.transaction((tx) =>
    insertDeployment(
      tx,
      createSecretBox({ keys: [old], primary: 'old' }),
      tenantId,
      newDeployment('shop', { id, secrets }),
    ),
  );
  const both = createSecretBox({ keys: [next, old], primary: 'next' });
  const read = async () =>
    (await scope.read((reader) => findDeployment(reader, tenantId, id)))?.secrets ?? null;
  expect(openSecrets(both, await read())).toEqual(secrets);
  const reseal = () =>
    scope.transaction((tx) => resealBatch(tx, both, 'secret_sets', { after: null, limit: 100 }));
  expect(await reseal()).toMatchObject({ resealed: 1, unreadable: [], next: null });
  expect(await reseal()).toMatchObject({ resealed: 0, unreadable: [] });
  expect(openSecrets(createSecretBox({ keys: [next], primary: 'next' }), await read())).toEqual(secrets);
});
