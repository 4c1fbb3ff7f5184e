/** The totals over all tenants that metrics export. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { uuidv7, uuidv7At } from '../../../../src/domain/core/id.ts';
import { PLATFORM_LISTENER_ID } from '../../../../src/domain/deployment/source.ts';
import { readFleet } from '../../../../src/hub/store/deployments/fleet.ts';
import { createListener } from '../../../../src/hub/store/listeners/listeners.ts';
import { insert, newDeployment, newTenant, type StoreFixture, startStore } from '../../harness/store.ts';

let store: StoreFixture;
beforeAll(async () => {
  store = await startStore();
});
afterAll(() => store?.stop());
beforeEach(async () => {
  await store.sql('DELETE FROM deployments');
  await store.sql('DELETE FROM listeners WHERE tenant_id IS NOT NULL');
  await store.sql(`UPDATE listeners SET lease_expires_at = NULL, ever_seen = false, last_seen_at = NULL,
    cluster_reachable = true`);
});

const fleet = (options: Parameters<typeof readFleet>[1] = {}) =>
  store.database.platform.read((reader) => readFleet(reader, options));
/** Its branch is looked at. */
const BUILT_ON_PUSH = {
  source: 'git_host' as const,
  sourceConfig: { ...newDeployment('any').sourceConfig, build_on_push: true },
};
const theirs = (tenantId: string) =>
  store.database.platform.transaction((transaction) =>
    createListener(transaction, {
      tenantId,
      computeType: 'k8s',
      computeId: 'theirs',
      computeConfig: { k8s_namespaces: [] },
    }),
  );
/** The listener holds its lease for so many seconds. */
const lease = (seconds: number) =>
  store.sql(
    `UPDATE listeners SET lease_expires_at = now() + make_interval(secs => $1), ever_seen = true,
       last_seen_at = now() - interval '5 s' WHERE id = $2`,
    [seconds, PLATFORM_LISTENER_ID],
  );

/** Seconds since a Unix time in seconds. The database runs on this machine. */
const ageOf = (time: number | null | undefined) => Date.now() / 1000 - (time ?? Number.NaN);

test('the totals have every status with 0 and a listener that never connected when there is nothing', async () => {
  expect(await fleet()).toEqual({
    deployments: { AWAITING_DELETE: 0, UNKNOWN: 0, UNUSED: 0, AWAITING_DATABASE: 0, READY: 0 },
    due: { platform: { count: 0, oldestAt: null }, tenant: { count: 0, oldestAt: null } },
    rolled: { deployments: { deployed: 0, failed: 0 }, tenants: { deployed: 0, failed: 0 } },
    unreconciled: 0,
    branches: { count: 0, oldestAt: null },
    listeners: [{ owner: 'platform', status: 'NEVER_SEEN', count: 1 }],
    pulses: [{ id: PLATFORM_LISTENER_ID, lastSeenAt: null, leaseExpiresAt: null }],
  });
});

test('the totals count deployments of all tenants by status, which is UNKNOWN when the lease has expired', async () => {
  await lease(30);
  const [a, b] = [await newTenant(store), await newTenant(store)];
  const ready = await insert(store, a.tenantId, 'ready');
  const leaving = await insert(store, b.tenantId, 'leaving');
  await insert(store, b.tenantId, 'new');
  await store.sql(
    'UPDATE deployments SET data_ready = true, observed_at = now(), observed_generation = generation WHERE id = $1',
    [ready.id],
  );
  await store.sql('UPDATE deployments SET delete_requested_at = now(), observed_at = now() WHERE id = $1', [
    leaving.id,
  ]);
  const none = { AWAITING_DELETE: 1, UNKNOWN: 0, UNUSED: 0, AWAITING_DATABASE: 1, READY: 0 };
  expect(await fleet()).toMatchObject({ deployments: { ...none, READY: 1 }, unreconciled: 2 });
  await lease(-1);
  expect((await fleet()).deployments).toEqual({ ...none, UNKNOWN: 1 });
});

test('the totals count waiting work from its due time, and exclude applied and postponed work', async () => {
  const { tenantId } = await newTenant(store);
  const [waiting, applied, later] = [
    await insert(store, tenantId, 'waiting'),
    await insert(store, tenantId, 'applied'),
    await insert(store, tenantId, 'later', BUILT_ON_PUSH),
  ];
  const due = (id: string, seconds: number) =>
    store.sql('UPDATE deployments SET next_attempt_at = now() + make_interval(secs => $1) WHERE id = $2', [
      seconds,
      id,
    ]);
  await due(waiting.id, -90);
  await due(applied.id, -500);
  await due(later.id, 60);
  await store.sql('UPDATE deployments SET acknowledged_generation = generation WHERE id = $1', [applied.id]);
  await store.sql(`UPDATE deployments SET next_poll_at = now() - interval '200 s' WHERE id = $1`, [later.id]);
  const {
    due: { platform: work },
    branches,
  } = await fleet();
  expect([work.count, branches.count]).toEqual([1, 1]);
  expect(ageOf(work.oldestAt)).toBeGreaterThanOrEqual(90);
  expect(ageOf(work.oldestAt)).toBeLessThan(490);
  expect(ageOf(branches.oldestAt)).toBeGreaterThanOrEqual(200);
});

test("the totals count listeners by owner and status, and show the last call of the platform's only", async () => {
  await lease(30);
  const { tenantId } = await newTenant(store);
  await theirs(tenantId);
  const { listeners, pulses } = await fleet();
  expect(listeners).toEqual([
    { owner: 'platform', status: 'CONNECTED', count: 1 },
    { owner: 'tenant', status: 'NEVER_SEEN', count: 1 },
  ]);
  expect(pulses.map(({ id }) => id)).toEqual([PLATFORM_LISTENER_ID]);
  expect(ageOf(pulses[0]?.leaseExpiresAt)).toBeLessThan(0);
  expect(ageOf(pulses[0]?.lastSeenAt)).toBeGreaterThanOrEqual(5);
  await store.sql('UPDATE listeners SET cluster_reachable = false WHERE id = $1', [PLATFORM_LISTENER_ID]);
  expect((await fleet()).listeners[0]?.status).toBe('CLUSTER_UNREACHABLE');
  await lease(-1);
  expect((await fleet()).listeners[0]?.status).toBe('LOST');
});

test("the totals separate work that a tenant's listener does not take from that of the platform's", async () => {
  const { tenantId } = await newTenant(store);
  const { id: listenerId } = await theirs(tenantId);
  await insert(store, tenantId, 'ours');
  const { id } = await insert(store, tenantId, 'theirs', { listenerId });
  await store.sql(`UPDATE deployments SET next_attempt_at = now() - interval '1 h' WHERE id = $1`, [id]);
  const { due } = await fleet();
  expect([due.platform.count, due.tenant.count]).toEqual([1, 1]);
  expect(ageOf(due.platform.oldestAt)).toBeLessThan(1800);
  expect(ageOf(due.tenant.oldestAt)).toBeGreaterThanOrEqual(3600);
});

test('the totals count only branches with a push of unclear order when branches are not polled', async () => {
  const { tenantId } = await newTenant(store);
  for (const [name, watch, more] of [
    ['sure', null, BUILT_ON_PUSH],
    ['unsure', { soon: true }, BUILT_ON_PUSH],
    ['image', null, {}],
  ] as const) {
    const { id } = await insert(store, tenantId, name, more);
    await store.sql(
      `UPDATE deployments SET next_poll_at = now() - interval '2 h', branch_watch = $2 WHERE id = $1`,
      [id, watch],
    );
  }
  expect((await fleet()).branches.count).toBe(2);
  expect((await fleet({ soonOnly: true })).branches.count).toBe(1);
  await store.sql(`UPDATE deployments SET branch_watch = NULL`);
  expect((await fleet({ soonOnly: true })).branches).toEqual({ count: 0, oldestAt: null });
});

test('the totals count a deployment once, by its newest revision that ended within the hour', async () => {
  const [a, b] = [await newTenant(store), await newTenant(store)];
  const long = uuidv7At(Date.now() - 2 * 3_600_000);
  const add = async (tenantId: string, name: string, ...statuses: string[]) => {
    const { latestRevisionId } = await insert(store, tenantId, name);
    for (const [index, status] of statuses.entries())
      await store.sql(
        `INSERT INTO revisions (id, tenant_id, deployment_id, number, status, source_revision_config)
         SELECT $1, tenant_id, deployment_id, $2, $3, source_revision_config FROM revisions WHERE id = $4`,
        [uuidv7(), index + 2, status, latestRevisionId],
      );
    return latestRevisionId;
  };
  await add(a.tenantId, 'broken', ...Array.from({ length: 7 }, () => 'DEPLOY_FAILED'), 'DEPLOYING');
  await add(a.tenantId, 'mended', 'DEPLOY_FAILED', 'DEPLOYED');
  await add(b.tenantId, 'sound', 'DEPLOYED', 'SKIPPED');
  const old = await add(b.tenantId, 'old');
  await store.sql(`UPDATE revisions SET id = $1, status = 'DEPLOY_FAILED' WHERE id = $2`, [long, old]);
  expect((await fleet()).rolled).toEqual({
    deployments: { deployed: 2, failed: 1 },
    tenants: { deployed: 1, failed: 1 },
  });
});

test('the totals list lost listeners first when there are more than the limit', async () => {
  await lease(30);
  try {
    await store.sql(
      `INSERT INTO listeners (id, compute_type, compute_id, compute_config, ever_seen, last_seen_at, lease_expires_at)
       SELECT gen_random_uuid(), compute_type, 'many-' || n, compute_config, true, now(), now() + interval '1 h'
       FROM listeners, generate_series(1, 60) n WHERE id = $1`,
      [PLATFORM_LISTENER_ID],
    );
    // The newest has given its lease up.
    await store.sql(
      `UPDATE listeners SET lease_expires_at = NULL, last_seen_at = now() - interval '1 h' WHERE compute_id = 'many-60'`,
    );
    const { pulses, listeners } = await fleet();
    expect(pulses).toHaveLength(50);
    expect(ageOf(pulses[0]?.leaseExpiresAt)).toBeGreaterThanOrEqual(3600);
    expect(pulses[1]?.id).toBe(PLATFORM_LISTENER_ID);
    expect(listeners).toContainEqual({ owner: 'platform', status: 'LOST', count: 1 });
  } finally {
    await store.sql(`DELETE FROM listeners WHERE compute_id LIKE 'many-%'`);
  }
});
