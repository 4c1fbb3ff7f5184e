/** Keys, tenants, listeners, tags, tracing projects. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { uuidv7 } from '../../../../src/domain/core/id.ts';
import { PLATFORM_LISTENER_ID } from '../../../../src/domain/deployment/source.ts';
import { ReferenceViolation, UniqueViolation } from '../../../../src/hub/store/core/errors.ts';
import {
  chooseListener,
  createListener,
  deleteListener,
  findListener,
  listListeners,
  updateListener,
} from '../../../../src/hub/store/listeners/listeners.ts';
import {
  createApiKey,
  ensureBootstrap,
  findApiKeyByHash,
  generateApiKey,
  hashApiKey,
  listApiKeys,
  revokeApiKey,
  SCOPES,
  touchApiKey,
} from '../../../../src/hub/store/tenancy/api-keys.ts';
import {
  createTagKey,
  createTagValue,
  deleteTagKey,
  listDeploymentTagValues,
  setDeploymentTagValues,
} from '../../../../src/hub/store/tenancy/tags.ts';
import { deleteTenant } from '../../../../src/hub/store/tenancy/tenant-delete.ts';
import {
  deleteTracingProject,
  ensureTracingProject,
  listTracingProjects,
} from '../../../../src/hub/store/tenancy/tracing-projects.ts';
import { insert, newTenant, type StoreFixture, startStore } from '../../harness/store.ts';

let store: StoreFixture;
beforeAll(async () => {
  store = await startStore();
});
afterAll(() => store.stop());

const page = { limit: 100, offset: 0 };

describe('an API key', () => {
  test('is found by its hash until it is revoked, and is not stored itself', async () => {
    const { tenantId, scope } = await newTenant(store);
    const { platform } = store.database;
    const { key, apiKey } = await scope.transaction((tx) =>
      createApiKey(tx, { tenantId, name: 'ci', scopes: ['deployments:read'] }),
    );
    const find = () => platform.read((reader) => findApiKeyByHash(reader, hashApiKey(key)));
    expect(await find()).toEqual(apiKey);
    expect(apiKey).toMatchObject({ tenantId, name: 'ci', scopes: ['deployments:read'], lastUsedAt: null });
    expect(key.startsWith(apiKey.prefix)).toBe(true);
    const stored = await store.sql<{ text: string }>('SELECT k::text AS text FROM api_keys k');
    expect(stored.filter(({ text }) => text.includes(key))).toEqual([]);
    const other = await newTenant(store);
    expect(await other.scope.transaction((tx) => revokeApiKey(tx, other.tenantId, apiKey.id))).toBe(false);
    expect(await scope.transaction((tx) => revokeApiKey(tx, tenantId, apiKey.id))).toBe(true);
    expect(await find()).toBeNull();
    const listed = await scope.read((reader) => listApiKeys(reader, tenantId, page));
    expect(listed).toMatchObject([{ id: apiKey.id, revokedAt: expect.any(Date) }]);
  });

  test('records its last use at most once an hour', async () => {
    const { tenantId, scope } = await newTenant(store);
    const { apiKey } = await scope.transaction((tx) =>
      createApiKey(tx, { tenantId, name: 'ci', scopes: [] }),
    );
    const touch = async () => {
      await scope.transaction((tx) => touchApiKey(tx, apiKey.id));
      const [row] = await store.sql<{ at: string }>(
        'SELECT last_used_at::text AS at FROM api_keys WHERE id = $1',
        [apiKey.id],
      );
      return row?.at;
    };
    const first = await touch();
    expect(first).not.toBeNull();
    expect(await touch()).toBe(first);
    await store.sql(`UPDATE api_keys SET last_used_at = now() - interval '2 hours' WHERE id = $1`, [
      apiKey.id,
    ]);
    expect(await touch()).not.toBe(first);
  });

  test('is created once, with one tenant, when several replicas bootstrap at once', async () => {
    const bootstrap = { tenantName: `boot-${uuidv7()}`, key: generateApiKey() };
    const { platform } = store.database;
    const made = await Promise.all(
      Array.from({ length: 5 }, () => platform.transaction((tx) => ensureBootstrap(tx, bootstrap))),
    );
    const tenantId = made[0]?.tenant.id ?? '';
    expect(new Set(made.map(({ tenant }) => tenant.id)).size).toBe(1);
    const found = await platform.read((reader) => findApiKeyByHash(reader, hashApiKey(bootstrap.key)));
    expect(found).toMatchObject({ tenantId, scopes: SCOPES });
    expect(await platform.read((reader) => listApiKeys(reader, tenantId, page))).toHaveLength(1);
  });

  test('stays revoked when its tenant is deleted and created again by the bootstrap', async () => {
    const bootstrap = { tenantName: `boot-${uuidv7()}`, key: generateApiKey() };
    const { platform } = store.database;
    const start = () => platform.transaction((tx) => ensureBootstrap(tx, bootstrap));
    const find = () => platform.read((reader) => findApiKeyByHash(reader, hashApiKey(bootstrap.key)));
    const { tenant } = await start();
    const { id } = (await find()) ?? { id: '' };
    expect(await platform.transaction((tx) => revokeApiKey(tx, null, id))).toBe(true);
    const actor = { kind: 'system', name: 'test' } as const;
    expect(await platform.transaction((tx) => deleteTenant(tx, tenant.id, actor))).toBeNull();
    expect((await start()).tenant.id).not.toBe(tenant.id);
    expect(await find()).toBeNull();
  });
});

describe('a listener', () => {
  const cluster = (tenantId: string, computeId: string) => ({
    tenantId,
    computeType: 'k8s' as const,
    computeId,
    computeConfig: { k8s_namespaces: ['apps'] },
  });

  test('can be used and changed by its tenant, and that of the platform can only be used', async () => {
    const [tenant, other] = [await newTenant(store), await newTenant(store)];
    const { tenantId, scope } = tenant;
    const own = await scope.transaction((tx) => createListener(tx, cluster(tenantId, 'east')));
    expect(own).toMatchObject({
      tenantId,
      computeId: 'east',
      everSeen: false,
      alive: false,
      rendering: null,
    });
    const listed = await scope.read((reader) => listListeners(reader, tenantId, page));
    expect(listed.map(({ id }) => id)).toEqual([own.id, PLATFORM_LISTENER_ID]);
    expect(await scope.read((reader) => findListener(reader, tenantId, own.id))).toEqual(own);
    expect(await other.scope.read((reader) => findListener(reader, other.tenantId, own.id))).toBeNull();
    expect((await scope.read((reader) => chooseListener(reader, tenantId, null)))?.id).toBe(
      PLATFORM_LISTENER_ID,
    );
    expect((await scope.read((reader) => chooseListener(reader, tenantId, own.id)))?.id).toBe(own.id);
    expect(await scope.read((reader) => chooseListener(reader, tenantId, uuidv7()))).toBeNull();
    const config = { k8s_namespaces: ['a', 'b'] };
    const changed = await scope.transaction((tx) =>
      updateListener(tx, tenantId, own.id, { computeConfig: config }),
    );
    expect(changed?.computeConfig).toEqual(config);
    for (const id of [PLATFORM_LISTENER_ID, uuidv7()]) {
      expect(
        await scope.transaction((tx) => updateListener(tx, tenantId, id, { computeConfig: config })),
      ).toBeNull();
      expect(await scope.transaction((tx) => deleteListener(tx, tenantId, id))).toBe(false);
    }
    expect(await scope.transaction((tx) => deleteListener(tx, tenantId, own.id))).toBe(true);
  });

  test('has a unique compute_id in its tenant, and cannot be deleted while it is used', async () => {
    const [tenant, other] = [await newTenant(store), await newTenant(store)];
    const { tenantId, scope } = tenant;
    const own = await scope.transaction((tx) => createListener(tx, cluster(tenantId, 'east')));
    await expect(
      scope.transaction((tx) => createListener(tx, cluster(tenantId, 'east'))),
    ).rejects.toMatchObject({
      constraint: 'listeners_compute_id',
    });
    await other.scope.transaction((tx) => createListener(tx, cluster(other.tenantId, 'east')));
    await insert(store, tenantId, 'shop', { listenerId: own.id });
    await expect(scope.transaction((tx) => deleteListener(tx, tenantId, own.id))).rejects.toBeInstanceOf(
      ReferenceViolation,
    );
  });
});

describe('the tag values of a deployment', () => {
  test('are replaced as a whole, must belong to its tenant, and are removed with their key', async () => {
    const [tenant, other] = [await newTenant(store), await newTenant(store)];
    const { tenantId, scope } = tenant;
    const { id } = await insert(store, tenantId, 'shop');
    const key = await scope.transaction((tx) => createTagKey(tx, tenantId, 'env'));
    const value = async (name: string) =>
      (await scope.transaction((tx) => createTagValue(tx, tenantId, key.id, name)))?.id ?? '';
    const [dev, prod] = [await value('dev'), await value('prod')];
    const set = (ids: string[]) =>
      scope.transaction((tx) => setDeploymentTagValues(tx, tenantId, id, ids, { actor: { kind: 'system' } }));
    expect(await set([dev, dev])).toMatchObject([{ value: 'dev' }]);
    expect(await set([prod])).toMatchObject([{ value: 'prod' }]);
    const theirs = await other.scope.transaction(async (tx) => {
      const theirKey = await createTagKey(tx, other.tenantId, 'env');
      return createTagValue(tx, other.tenantId, theirKey.id, 'dev');
    });
    await expect(set([dev, theirs?.id ?? ''])).rejects.toBeInstanceOf(ReferenceViolation);
    const listed = () => scope.read((reader) => listDeploymentTagValues(reader, tenantId, id));
    expect((await listed()).map(({ value: text }) => text)).toEqual(['prod']);
    expect(
      await other.scope.transaction((tx) =>
        setDeploymentTagValues(tx, other.tenantId, id, [], { actor: { kind: 'system' } }),
      ),
    ).toBeNull();
    expect(await other.scope.transaction((tx) => createTagValue(tx, other.tenantId, key.id, 'x'))).toBeNull();
    await expect(value('dev')).rejects.toBeInstanceOf(UniqueViolation);
    expect(await other.scope.transaction((tx) => deleteTagKey(tx, other.tenantId, key.id))).toBe(false);
    expect(await scope.transaction((tx) => deleteTagKey(tx, tenantId, key.id))).toBe(true);
    expect(await listed()).toEqual([]);
  });
});

test('a tracing project is created once for a name, and cannot be deleted while it is used', async () => {
  const { tenantId, scope } = await newTenant(store);
  const created = await insert(store, tenantId, 'shop');
  const ensured = await scope.transaction((tx) => ensureTracingProject(tx, tenantId, 'shop'));
  expect(ensured.id).toBe(created.tracingProjectId);
  const spare = await scope.transaction((tx) => ensureTracingProject(tx, tenantId, 'spare'));
  const listed = await scope.read((reader) => listTracingProjects(reader, tenantId, page));
  expect(listed.map(({ name }) => name)).toEqual(['spare', 'shop']);
  await expect(
    scope.transaction((tx) =>
      deleteTracingProject(tx, tenantId, created.tracingProjectId, { kind: 'system' }),
    ),
  ).rejects.toBeInstanceOf(ReferenceViolation);
  expect(
    await scope.transaction((tx) => deleteTracingProject(tx, tenantId, spare.id, { kind: 'system' })),
  ).toBe(true);
});
