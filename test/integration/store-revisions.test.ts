/** Revisions: states move only as domain/states.ts lets them, each move with its event, the active one never back. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { uuidv7 } from '../../src/domain/id.ts';
import { canMove, REVISION_STATUSES, type RevisionStatus } from '../../src/domain/states.ts';
import { findDeployment, updateWanted } from '../../src/store/deployments.ts';
import { listEvents } from '../../src/store/events.ts';
import type { DeploymentRecord } from '../../src/store/records.ts';
import { findRevision, listRevisions, moveRevision, type RevisionFilter } from '../../src/store/revisions.ts';
import { insert, newTenant, type StoreFixture, startStore } from './harness/store.ts';

let store: StoreFixture;
beforeAll(async () => {
  store = await startStore();
});
afterAll(() => store.stop());

type Tenant = Awaited<ReturnType<typeof newTenant>>;
const page = { limit: 100, offset: 0 };
const actor = { kind: 'system' } as const;

function move({ tenantId, scope }: Tenant, deploymentId: string, revisionId: string, to: RevisionStatus) {
  return scope.transaction((tx) =>
    moveRevision(tx, tenantId, deploymentId, revisionId, {
      to,
      reason: 'RolloutInProgress',
      message: null,
      actor,
    }),
  );
}

function addRevision(
  { tenantId, scope }: Tenant,
  record: DeploymentRecord,
  status: RevisionStatus = 'QUEUED',
) {
  return scope.transaction((tx) =>
    updateWanted(tx, store.box, tenantId, record.id, {
      expectedGeneration: record.generation,
      sourceConfig: record.sourceConfig,
      sourceRevisionConfig: record.sourceRevisionConfig,
      secrets: { kind: 'set', id: null },
      imageVersion: null,
      revision: { id: uuidv7(), status },
      actor,
      message: 'again',
    }),
  );
}

const find = ({ tenantId, scope }: Tenant, id: string) =>
  scope.read((reader) => findDeployment(reader, tenantId, id));
const setStatus = (id: string | null, status: RevisionStatus) =>
  store.sql('UPDATE revisions SET status = $2 WHERE id = $1', [id, status]);

test('every pair of states: moved exactly if the table lets it', async () => {
  const tenant = await newTenant(store);
  const { id, latestRevisionId: revision } = await insert(store, tenant.tenantId, 'shop');
  for (const from of REVISION_STATUSES) {
    for (const to of REVISION_STATUSES) {
      await setStatus(revision, from);
      const moved = await move(tenant, id, revision ?? '', to);
      expect(`${from} → ${to}: ${moved}`).toBe(
        `${from} → ${to}: ${canMove(from, to) && from !== to ? from : null}`,
      );
      const [row] = await store.sql<{ status: string }>('SELECT status FROM revisions WHERE id = $1', [
        revision,
      ]);
      expect(row?.status).toBe(moved === null ? from : to);
    }
  }
});

test('DEPLOYED makes it the active one, with time and event', async () => {
  const tenant = await newTenant(store);
  const created = await insert(store, tenant.tenantId, 'shop');
  const revisionId = created.latestRevisionId ?? '';
  expect(await move(tenant, created.id, revisionId, 'DEPLOYING')).toBe('QUEUED');
  expect((await find(tenant, created.id))?.activeRevisionId).toBeNull();
  await tenant.scope.transaction((tx) =>
    moveRevision(tx, tenant.tenantId, created.id, revisionId, {
      to: 'DEPLOYED',
      reason: 'RolloutComplete',
      message: 'All pods are available.',
      resolvedImage: 'registry.example/web@sha256:1',
      actor,
    }),
  );
  expect((await find(tenant, created.id))?.activeRevisionId).toBe(revisionId);
  const revision = await tenant.scope.read((reader) =>
    findRevision(reader, tenant.tenantId, created.id, revisionId),
  );
  expect(revision).toMatchObject({
    status: 'DEPLOYED',
    reason: 'RolloutComplete',
    resolvedImage: 'registry.example/web@sha256:1',
    deployedAt: expect.any(Date),
  });
  const [event] = await tenant.scope.read((reader) => listEvents(reader, tenant.tenantId, created.id, page));
  expect(event).toMatchObject({
    revisionId,
    reason: 'RolloutComplete',
    message: 'Revision 1 is DEPLOYED: All pods are available.',
    details: { from: 'DEPLOYING', to: 'DEPLOYED' },
  });
});

test('an older revision that is told DEPLOYED late does not become active again', async () => {
  const tenant = await newTenant(store);
  const first = await insert(store, tenant.tenantId, 'shop');
  await move(tenant, first.id, first.latestRevisionId ?? '', 'DEPLOYING');
  const second = await addRevision(tenant, first);
  await move(tenant, first.id, second.latestRevisionId ?? '', 'DEPLOYED');
  await move(tenant, first.id, first.latestRevisionId ?? '', 'DEPLOYED');
  expect((await find(tenant, first.id))?.activeRevisionId).toBe(second.latestRevisionId);
});

test('the same move by many at once happens once', async () => {
  const tenant = await newTenant(store);
  const created = await insert(store, tenant.tenantId, 'shop');
  const moves = await Promise.all(
    Array.from({ length: 8 }, () => move(tenant, created.id, created.latestRevisionId ?? '', 'DEPLOYED')),
  );
  expect(moves.filter((from) => from === 'QUEUED')).toHaveLength(1);
  const events = await tenant.scope.read((reader) => listEvents(reader, tenant.tenantId, created.id, page));
  expect(events).toHaveLength(2);
});

test('moves and changes of one deployment at once do not wait for each other', async () => {
  const tenant = await newTenant(store);
  const created = await insert(store, tenant.tenantId, 'shop');
  for (let round = 0; round < 10; round += 1) {
    const current = await find(tenant, created.id);
    if (current === null) throw new Error('gone');
    await Promise.all([
      addRevision(tenant, current),
      move(tenant, created.id, current.latestRevisionId ?? '', 'DEPLOYING'),
    ]);
  }
  expect(store.logger.lines.filter(({ message }) => message === 'running a transaction again')).toEqual([]);
});

test('only failed builds: nothing can run, UNUSED; a new revision can', async () => {
  const tenant = await newTenant(store);
  const created = await insert(store, tenant.tenantId, 'shop', {
    revision: { id: uuidv7(), status: 'AWAITING_BUILD' },
  });
  expect(created.status).toBe('AWAITING_DATABASE');
  await move(tenant, created.id, created.latestRevisionId ?? '', 'BUILDING');
  await move(tenant, created.id, created.latestRevisionId ?? '', 'BUILD_FAILED');
  const failed = await find(tenant, created.id);
  expect(failed?.status).toBe('UNUSED');
  if (failed === null) throw new Error('gone');
  expect((await addRevision(tenant, failed, 'AWAITING_BUILD')).status).toBe('AWAITING_DATABASE');
});

test('a failed build beside a revision that ran leaves the status alone', async () => {
  const tenant = await newTenant(store);
  const first = await insert(store, tenant.tenantId, 'shop');
  await move(tenant, first.id, first.latestRevisionId ?? '', 'DEPLOYED');
  const second = await addRevision(tenant, first, 'BUILDING');
  await move(tenant, first.id, second.latestRevisionId ?? '', 'BUILD_FAILED');
  expect(await find(tenant, first.id)).toMatchObject({
    hasRunnableRevision: true,
    activeRevisionId: first.latestRevisionId,
  });
});

test('list: newest first, by state, by finality, in pages; UNKNOWN while the listener is away', async () => {
  const tenant = await newTenant(store);
  let record = await insert(store, tenant.tenantId, 'shop');
  for (let index = 0; index < 3; index += 1) {
    await setStatus(record.latestRevisionId, 'DEPLOYED');
    record = await addRevision(tenant, record);
  }
  const numbers = async (filter: RevisionFilter, limit = 100, offset = 0) => {
    const found = await tenant.scope.read((reader) =>
      listRevisions(reader, tenant.tenantId, record.id, filter, { limit, offset }),
    );
    return found.map(({ number }) => number);
  };
  expect(await numbers({})).toEqual([4, 3, 2, 1]);
  expect(await numbers({}, 2, 1)).toEqual([3, 2]);
  expect(await numbers({ statuses: ['QUEUED'] })).toEqual([4]);
  expect(await numbers({ statuses: ['QUEUED', 'DEPLOYED'] })).toEqual([4, 3, 2, 1]);
  expect(await numbers({ remoteReconciled: true })).toEqual([3, 2, 1]);
  expect(await numbers({ remoteReconciled: false })).toEqual([4]);
  await setStatus(record.latestRevisionId, 'DEPLOYING');
  expect(await numbers({ statuses: ['UNKNOWN'] })).toEqual([4]);
  const other = await newTenant(store);
  expect(
    await other.scope.read((reader) => listRevisions(reader, other.tenantId, record.id, {}, page)),
  ).toEqual([]);
});
