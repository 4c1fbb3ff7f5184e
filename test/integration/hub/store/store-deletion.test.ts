/** Deletion of a record in two steps: asked for, then removed once the cluster is clean; what goes with it and what stays. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { uuidv7 } from '../../../../src/domain/core/id.ts';
import { removeNeverHandedOut } from '../../../../src/hub/store/deployments/deployment-remove.ts';
import {
  findDeployment,
  removeRecord,
  requestDeletion,
} from '../../../../src/hub/store/deployments/deployments.ts';
import { findRevision } from '../../../../src/hub/store/deployments/revisions.ts';
import { listEvents } from '../../../../src/hub/store/events/event-list.ts';
import { insert, newTenant, type StoreFixture, startStore } from '../../harness/store.ts';

let store: StoreFixture;
beforeAll(async () => {
  store = await startStore();
});
afterAll(() => store.stop());

const system = { kind: 'system' } as const;
const page = { limit: 100, offset: 0 };
const request = { deleteTracingProject: true, actor: system };

test('a deletion is requested once, raises the generation and sets the status AWAITING_DELETE', async () => {
  const { tenantId, scope } = await newTenant(store);
  const created = await insert(store, tenantId, 'shop');
  const ask = () => scope.transaction((tx) => requestDeletion(tx, tenantId, created.id, request));
  expect(await ask()).toBe('requested');
  expect(await ask()).toBe('already');
  const found = await scope.read((reader) => findDeployment(reader, tenantId, created.id));
  expect(found).toMatchObject({ status: 'AWAITING_DELETE', generation: 2, deleteTracingProject: true });
  expect(await scope.transaction((tx) => requestDeletion(tx, tenantId, uuidv7(), request))).toBe('missing');
  const other = await newTenant(store);
  expect(
    await other.scope.transaction((tx) => requestDeletion(tx, other.tenantId, created.id, request)),
  ).toBe('missing');
});

test('a repeated deletion request can add the tracing project but never exclude it again', async () => {
  const { tenantId, scope } = await newTenant(store);
  const created = await insert(store, tenantId, 'shop');
  const ask = (deleteTracingProject: boolean) =>
    scope.transaction((tx) =>
      requestDeletion(tx, tenantId, created.id, { deleteTracingProject, actor: system }),
    );
  const read = () => scope.read((reader) => findDeployment(reader, tenantId, created.id));
  expect(await ask(false)).toBe('requested');
  expect((await read())?.deleteTracingProject).toBe(false);
  const history = () =>
    scope.read((reader) => listEvents(reader, tenantId, { deploymentId: created.id }, page));
  const before = await history();
  for (const wanted of [true, true, false]) {
    expect(await ask(wanted)).toBe('already');
    expect(await read()).toMatchObject({ deleteTracingProject: true, generation: 2 });
  }
  // Recorded once, with its author.
  const [told, ...rest] = await history();
  expect(rest).toEqual(before);
  expect(told).toMatchObject({
    reason: 'DeletionRequested',
    message: 'Deletion of shop was requested again: its tracing project is deleted too.',
    details: { delete_tracing_project: true },
  });
});

test('a deletion that is changed to keep the workloads is recorded once', async () => {
  const { tenantId, scope } = await newTenant(store);
  const created = await insert(store, tenantId, 'shop');
  const ask = (keepWorkloads: boolean) =>
    scope.transaction((tx) =>
      requestDeletion(tx, tenantId, created.id, { ...request, graceSeconds: 3600, keepWorkloads }),
    );
  expect([await ask(false), await ask(true), await ask(true)]).toEqual(['requested', 'already', 'already']);
  const events = await scope.read((reader) =>
    listEvents(reader, tenantId, { deploymentId: created.id }, page),
  );
  expect(events.map(({ reason, details }) => [reason, details])).toEqual([
    ['DeletionRequested', { keep_workloads: true }],
    ['DeletionRequested', expect.objectContaining({ keep_workloads: false })],
    ['Created', expect.anything()],
  ]);
});

test('a repeated deletion request keeps the first grace period, and the deployment is due at once', async () => {
  const { tenantId, scope } = await newTenant(store);
  const created = await insert(store, tenantId, 'shop');
  await scope.transaction((tx) =>
    requestDeletion(tx, tenantId, created.id, { ...request, graceSeconds: 3600 }),
  );
  const read = () =>
    store.sql(
      `SELECT next_attempt_at <= now() AS due, extract(epoch FROM purge_after - delete_requested_at)::int AS grace
       FROM deployments WHERE id = $1`,
      [created.id],
    );
  expect(await read()).toEqual([{ due: true, grace: 3600 }]);
  for (const graceSeconds of [0, 7200]) {
    await scope.transaction((tx) => requestDeletion(tx, tenantId, created.id, { ...request, graceSeconds }));
    expect(await read()).toEqual([{ due: true, grace: 3600 }]);
  }
});

test('the removal of a record deletes revisions and secrets, and leaves tombstone and history', async () => {
  const { tenantId, scope } = await newTenant(store);
  const created = await insert(store, tenantId, 'shop', { secrets: [{ name: 'A', value: '1' }] });
  const remove = () => scope.transaction((tx) => removeRecord(tx, tenantId, created.id, system));
  expect(await remove()).toBe(false);
  await scope.transaction((tx) => requestDeletion(tx, tenantId, created.id, request));
  expect(await remove()).toBe(true);
  expect(await remove()).toBe(false);
  expect(await scope.read((reader) => findDeployment(reader, tenantId, created.id))).toBeNull();
  expect(
    await scope.read((reader) => findRevision(reader, tenantId, created.id, created.latestRevisionId ?? '')),
  ).toBeNull();
  for (const table of ['deployments', 'revisions', 'secret_sets', 'tracing_projects']) {
    expect(await store.sql(`SELECT 1 FROM ${table} WHERE tenant_id = $1`, [tenantId])).toEqual([]);
  }
  expect(
    await store.sql('SELECT id, app_name, generation, due FROM tombstones WHERE tenant_id = $1', [tenantId]),
  ).toEqual([{ id: created.id, app_name: created.appName, generation: 2, due: false }]);
  const events = await scope.read((reader) =>
    listEvents(reader, tenantId, { deploymentId: created.id }, page),
  );
  expect(events.map(({ reason }) => reason)).toEqual(['Deleted', 'DeletionRequested', 'Created']);
});

test('the removal of a record keeps a tracing project that another deployment of the same name uses', async () => {
  const { tenantId, scope } = await newTenant(store);
  const created = await insert(store, tenantId, 'shop');
  await scope.transaction((tx) => requestDeletion(tx, tenantId, created.id, request));
  const [next] = await Promise.all([
    insert(store, tenantId, 'shop'),
    scope.transaction((tx) => removeRecord(tx, tenantId, created.id, system)),
  ]);
  expect(await store.sql('SELECT name FROM tracing_projects WHERE id = $1', [next.tracingProjectId])).toEqual(
    [{ name: 'shop' }],
  );
});

test('a record that was never handed out is removed after its grace period without a listener, unlike others', async () => {
  const remove = () => store.database.platform.transaction(removeNeverHandedOut);
  // Of the tests before.
  await remove();
  const { tenantId, scope } = await newTenant(store);
  const made = async (name: string) => (await insert(store, tenantId, name)).id;
  const [asked, inGrace, told, seen, refused, wanted] = [
    await made('asked'),
    await made('in-grace'),
    await made('told'),
    await made('seen'),
    await made('refused'),
    await made('wanted'),
  ];
  await store.sql('UPDATE deployments SET handed_out = true WHERE id = $1', [told]);
  // As after a restore of the hub: the cluster reports an object that the record was never handed out as.
  await store.sql('UPDATE deployments SET observed_at = now() WHERE id = $1', [seen]);
  for (const id of [asked, told, seen, refused])
    await scope.transaction((tx) => requestDeletion(tx, tenantId, id, request));
  // Nothing ran that could stay.
  await store.sql('UPDATE deployments SET keep_workloads = true WHERE id = $1', [asked]);
  // A purge that was handed out, and that the cluster has refused for now.
  await store.sql('UPDATE deployments SET attempts = 1 WHERE id = $1', [refused]);
  await scope.transaction((tx) => requestDeletion(tx, tenantId, inGrace, { ...request, graceSeconds: 3600 }));
  const left = async () =>
    (
      await store.sql<{ id: string }>('SELECT id FROM deployments WHERE tenant_id = $1 ORDER BY id', [
        tenantId,
      ])
    ).map(({ id }) => id);

  await store.database.platform.transaction(async (handingOut) => {
    await handingOut.query('SELECT 1 FROM deployments WHERE id = $1 FOR UPDATE', [asked]);
    expect(await remove()).toBe(0);
  });
  expect(await remove()).toBe(1);
  expect(await left()).toEqual([inGrace, told, seen, refused, wanted].sort());
  const tombstones = 'SELECT id, due, kept_workloads FROM tombstones WHERE tenant_id = $1';
  expect(await store.sql(tombstones, [tenantId])).toEqual([{ id: asked, due: false, kept_workloads: false }]);
  const [last] = await scope.read((reader) => listEvents(reader, tenantId, { deploymentId: asked }, page));
  expect(last).toMatchObject({
    reason: 'Deleted',
    message: 'asked is removed. No listener ever received this deployment.',
    details: { from: 'AWAITING_DELETE', to: null },
  });

  await store.sql('UPDATE deployments SET purge_after = now() WHERE id = $1', [inGrace]);
  expect(await remove()).toBe(1);
  expect(await left()).toEqual([told, seen, refused, wanted].sort());
});
