/** The list of deployments: every filter, pages, and the derived status in SQL against the one in domain/revision/states.ts. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { uuidv7 } from '../../../../src/domain/core/id.ts';
import { DEPLOYMENT_STATUSES, deploymentStatus } from '../../../../src/domain/revision/states.ts';
import {
  type DeploymentFilter,
  findDeployment,
  listDeployments,
} from '../../../../src/hub/store/deployments/deployments.ts';
import { createListener } from '../../../../src/hub/store/listeners/listeners.ts';
import {
  createTagKey,
  createTagValue,
  setDeploymentTagValues,
} from '../../../../src/hub/store/tenancy/tags.ts';
import { insert, newDeployment, newTenant, type StoreFixture, startStore } from '../../harness/store.ts';

let store: StoreFixture;
beforeAll(async () => {
  store = await startStore();
});
afterAll(() => store.stop());

type Tenant = Awaited<ReturnType<typeof newTenant>>;

/** Names of what a filter lets through, newest first. */
async function names({ tenantId, scope }: Tenant, filter: DeploymentFilter, limit = 100, offset = 0) {
  const found = await scope.read((reader) => listDeployments(reader, tenantId, filter, { limit, offset }));
  return found.map(({ name }) => name);
}

async function listenerWithLease(tenant: Tenant, lease: string | null, reachable = true): Promise<string> {
  const listener = await tenant.scope.transaction((tx) =>
    createListener(tx, {
      tenantId: tenant.tenantId,
      computeType: 'k8s',
      computeId: uuidv7(),
      computeConfig: { k8s_namespaces: ['apps'] },
    }),
  );
  await store.sql(
    'UPDATE listeners SET lease_expires_at = now() + $2::interval, cluster_reachable = $3, ever_seen = true WHERE id = $1',
    [listener.id, lease, reachable],
  );
  return listener.id;
}

test('a list has the newest deployment first, and its pages neither skip nor repeat one', async () => {
  const tenant = await newTenant(store);
  for (const name of ['a', 'b', 'c', 'd', 'e']) await insert(store, tenant.tenantId, name);
  expect(await names(tenant, {}, 2, 0)).toEqual(['e', 'd']);
  expect(await names(tenant, {}, 2, 2)).toEqual(['c', 'b']);
  expect(await names(tenant, {}, 2, 4)).toEqual(['a']);
  expect(await names(tenant, {}, 2, 6)).toEqual([]);
});

test('a list returns the same record as a get, and only records of the own tenant', async () => {
  const [tenant, other] = [await newTenant(store), await newTenant(store)];
  const { id } = await insert(store, tenant.tenantId, 'shop', { secrets: [{ name: 'A', value: '1' }] });
  const [listed] = await tenant.scope.read((reader) =>
    listDeployments(reader, tenant.tenantId, {}, { limit: 10, offset: 0 }),
  );
  expect(listed).toEqual(await tenant.scope.read((reader) => findDeployment(reader, tenant.tenantId, id)));
  expect(await names(other, {})).toEqual([]);
  expect(await names(other, { deploymentIds: [id] })).toEqual([]);
});

describe('the filters of a list', () => {
  test('match name and name_contains literally, including %, _ and \\', async () => {
    const tenant = await newTenant(store);
    for (const name of ['shop', 'shop-2', '100%', '100x', 'a_b', 'aXb', 'back\\slash']) {
      await insert(store, tenant.tenantId, name);
    }
    expect(await names(tenant, { name: 'shop' })).toEqual(['shop']);
    expect(await names(tenant, { name: 'sho' })).toEqual([]);
    expect(await names(tenant, { nameContains: 'sho' })).toEqual(['shop-2', 'shop']);
    expect(await names(tenant, { nameContains: '0%' })).toEqual(['100%']);
    expect(await names(tenant, { nameContains: 'a_b' })).toEqual(['a_b']);
    expect(await names(tenant, { nameContains: 'k\\s' })).toEqual(['back\\slash']);
  });

  test('match image_version, deployment_type and deployment_ids, also in combination', async () => {
    const tenant = await newTenant(store);
    const typed = (deployment_type: 'dev' | 'prod') => ({
      sourceConfig: { ...newDeployment('x').sourceConfig, deployment_type },
    });
    await insert(store, tenant.tenantId, 'one', { ...typed('dev'), imageVersion: '1.0' });
    const two = await insert(store, tenant.tenantId, 'two', { ...typed('prod'), imageVersion: '1.0' });
    const three = await insert(store, tenant.tenantId, 'three', { ...typed('prod'), imageVersion: '2.0' });
    expect(await names(tenant, { imageVersion: '1.0' })).toEqual(['two', 'one']);
    expect(await names(tenant, { deploymentType: 'prod' })).toEqual(['three', 'two']);
    expect(await names(tenant, { deploymentIds: [three.id, two.id, uuidv7()] })).toEqual(['three', 'two']);
    expect(await names(tenant, { deploymentIds: [] })).toEqual([]);
    expect(await names(tenant, { deploymentType: 'prod', imageVersion: '1.0', nameContains: 'w' })).toEqual([
      'two',
    ]);
  });

  test('match remote_reconciled by the observed generation', async () => {
    const tenant = await newTenant(store);
    const [seen, behind] = [
      await insert(store, tenant.tenantId, 'seen'),
      await insert(store, tenant.tenantId, 'behind'),
    ];
    await insert(store, tenant.tenantId, 'never');
    await store.sql('UPDATE deployments SET observed_generation = generation WHERE id = $1', [seen.id]);
    await store.sql('UPDATE deployments SET observed_generation = 1, generation = 2 WHERE id = $1', [
      behind.id,
    ]);
    expect(await names(tenant, { remoteReconciled: true })).toEqual(['seen']);
    expect(await names(tenant, { remoteReconciled: false })).toEqual(['never', 'behind']);
  });

  test('match one of the tag values of each key, and match nothing for an unknown value', async () => {
    const [tenant, other] = [await newTenant(store), await newTenant(store)];
    const { tenantId, scope } = tenant;
    const values: Record<string, string> = {};
    await scope.transaction(async (tx) => {
      for (const [key, ...its] of [
        ['env', 'dev', 'prod'],
        ['team', 'red', 'blue'],
      ]) {
        const tagKey = await createTagKey(tx, tenantId, key ?? '');
        for (const value of its)
          values[value] = (await createTagValue(tx, tenantId, tagKey.id, value))?.id ?? '';
      }
    });
    const ids = (...wanted: string[]) => wanted.map((value) => values[value] ?? value);
    for (const [name, ...its] of [
      ['dev-red', 'dev', 'red'],
      ['dev-blue', 'dev', 'blue'],
      ['prod-red', 'prod', 'red'],
      ['both-red', 'dev', 'prod', 'red'],
      ['bare'],
    ]) {
      const { id } = await insert(store, tenantId, name ?? '');
      await scope.transaction((tx) =>
        setDeploymentTagValues(tx, tenantId, id, ids(...its), { actor: { kind: 'system' } }),
      );
    }
    expect(await names(tenant, { tagValueIds: ids('dev') })).toEqual(['both-red', 'dev-blue', 'dev-red']);
    expect(await names(tenant, { tagValueIds: ids('dev', 'prod') })).toEqual([
      'both-red',
      'prod-red',
      'dev-blue',
      'dev-red',
    ]);
    expect(await names(tenant, { tagValueIds: ids('dev', 'red') })).toEqual(['both-red', 'dev-red']);
    expect(await names(tenant, { tagValueIds: ids('dev', 'prod', 'blue') })).toEqual(['dev-blue']);
    expect(await names(tenant, { tagValueIds: ids('dev', uuidv7()) })).toEqual([]);
    expect(await names(other, { tagValueIds: ids('dev') })).toEqual([]);
  });
});

const bits = [false, true];
const FACTS = {
  deleting: bits,
  hasRunnableRevision: bits,
  lease: ['1 hour', '-1 second', null],
  reachable: bits,
  observed: bits,
  observedOff: bits,
  dataReady: bits,
};
type Facts = { [Name in keyof typeof FACTS]: (typeof FACTS)[Name][number] };

/** Every combination of the facts. */
const combinations = Object.entries(FACTS).reduce<Partial<Facts>[]>(
  (partial, [name, values]) =>
    partial.flatMap((facts) => values.map((value) => ({ ...facts, [name]: value }))),
  [{}],
) as Facts[];

test('SQL and domain derive the same status from every combination, in get, list and filter', async () => {
  const tenant = await newTenant(store);
  const listeners = new Map<string, string>();
  const expected = new Map<string, string>();
  for (const facts of combinations) {
    const key = `${facts.lease} ${facts.reachable}`;
    const listenerId = listeners.get(key) ?? (await listenerWithLease(tenant, facts.lease, facts.reachable));
    listeners.set(key, listenerId);
    const { id } = await insert(store, tenant.tenantId, `n${expected.size}`, { listenerId });
    await store.sql(
      `UPDATE deployments SET delete_requested_at = CASE WHEN $2 THEN now() END, has_runnable_revision = $3,
         observed_at = CASE WHEN $4 THEN now() END, observed_off = $5, data_ready = $6 WHERE id = $1`,
      [id, facts.deleting, facts.hasRunnableRevision, facts.observed, facts.observedOff, facts.dataReady],
    );
    const watched = facts.reachable && facts.lease === '1 hour';
    expected.set(id, deploymentStatus({ ...facts, watched }));
  }
  const { tenantId, scope } = tenant;
  const page = (offset: number) => ({ limit: 100, offset });
  const listed = [
    ...(await scope.read((reader) => listDeployments(reader, tenantId, {}, page(0)))),
    ...(await scope.read((reader) => listDeployments(reader, tenantId, {}, page(100)))),
  ];
  expect(new Map(listed.map(({ id, status }) => [id, status]))).toEqual(expected);
  for (const status of DEPLOYMENT_STATUSES) {
    const wanted = [...expected].filter(([, value]) => value === status).map(([id]) => id);
    expect(wanted.length).toBeGreaterThan(0);
    const found = await scope.read((reader) => listDeployments(reader, tenantId, { status }, page(0)));
    expect(found.map(({ id }) => id).sort()).toEqual(wanted.sort());
    expect(new Set(found.map((deployment) => deployment.status))).toEqual(new Set([status]));
  }
  for (const [id, status] of [...expected].slice(0, 40)) {
    expect((await scope.read((reader) => findDeployment(reader, tenantId, id)))?.status).toBe(status);
  }
});
