/** Revisions as reports move them: each move with its event, the active one never back; and as they are listed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { uuidv7 } from '../../../../src/domain/core/id.ts';
import type { RevisionStatus } from '../../../../src/domain/revision/states.ts';
import type { DeploymentRecord } from '../../../../src/hub/store/core/records.ts';
import { findDeployment, updateDesiredState } from '../../../../src/hub/store/deployments/deployments.ts';
import {
  findRevision,
  listRevisions,
  type RevisionFilter,
} from '../../../../src/hub/store/deployments/revisions.ts';
import { listEvents } from '../../../../src/hub/store/events/event-list.ts';
import { type HubFixture, observedReport, protocolClient, startHub } from '../../harness/hub.ts';
import { insert, newTenant, type StoreFixture } from '../../harness/store.ts';

let hub: HubFixture;
let store: StoreFixture;
let listener: ReturnType<typeof protocolClient>;
beforeAll(async () => {
  hub = await startHub();
  ({ store } = hub);
  listener = protocolClient(hub, 'a');
  await listener.lease();
});
afterAll(() => hub.stop());

type Tenant = Awaited<ReturnType<typeof newTenant>>;
const page = { limit: 100, offset: 0 };
const actor = { kind: 'system' } as const;

const latest = (record: DeploymentRecord, number: number) => ({ id: record.latestRevisionId ?? '', number });

/** @param more of the batch */
async function sendReport(record: DeploymentRecord, report: object, more: object = {}): Promise<void> {
  const answer = await listener.report([observedReport(record, report)], more);
  expect(answer.status).toBe(200);
}

function addRevision(
  { tenantId, scope }: Tenant,
  record: DeploymentRecord,
  status: RevisionStatus = 'QUEUED',
) {
  return scope.transaction((tx) =>
    updateDesiredState(tx, store.box, tenantId, record.id, {
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

async function find({ tenantId, scope }: Tenant, id: string): Promise<DeploymentRecord> {
  const found = await scope.read((reader) => findDeployment(reader, tenantId, id));
  if (found === null) throw new Error(`there is no deployment ${id}`);
  return found;
}
const setStatus = (id: string | null, status: RevisionStatus) =>
  store.sql('UPDATE revisions SET status = $2 WHERE id = $1', [id, status]);
const statuses = async ({ id }: DeploymentRecord) =>
  (
    await store.sql<{ status: string }>(
      'SELECT status FROM revisions WHERE deployment_id = $1 ORDER BY number',
      [id],
    )
  ).map(({ status }) => status);
const failedBuild = (record: DeploymentRecord, number: number) => ({
  build: {
    revisionId: latest(record, number).id,
    number,
    phase: 'Failed',
    reason: 'RefNotFound',
    message: 'no x',
  },
});

test('a DEPLOYED revision becomes the active one, with its time and an event', async () => {
  const tenant = await newTenant(store);
  const created = await insert(store, tenant.tenantId, 'shop');
  await sendReport(created, { rollout_revision: latest(created, 1) });
  expect((await find(tenant, created.id)).activeRevisionId).toBeNull();
  await sendReport(created, { active_revision: latest(created, 1) });
  expect((await find(tenant, created.id)).activeRevisionId).toBe(created.latestRevisionId);
  const revision = await tenant.scope.read((reader) =>
    findRevision(reader, tenant.tenantId, created.id, latest(created, 1).id),
  );
  expect(revision).toMatchObject({
    status: 'DEPLOYED',
    reason: 'RolloutComplete',
    deployedAt: expect.any(Date),
  });
  const [event] = await tenant.scope.read((reader) =>
    listEvents(reader, tenant.tenantId, { deploymentId: created.id }, page),
  );
  expect(event).toMatchObject({
    revisionId: created.latestRevisionId,
    reason: 'RolloutComplete',
    message: 'Revision 1 is DEPLOYED: every component runs it.',
    details: { from: 'DEPLOYING', to: 'DEPLOYED' },
  });
});

test('a late report does not activate an older revision again', async () => {
  const tenant = await newTenant(store);
  const first = await insert(store, tenant.tenantId, 'shop');
  await sendReport(first, { rollout_revision: latest(first, 1) });
  const second = await addRevision(tenant, first);
  await sendReport(second, { active_revision: latest(second, 2) });
  await sendReport(second, { active_revision: latest(first, 1) });
  expect((await find(tenant, first.id)).activeRevisionId).toBe(second.latestRevisionId);
  expect(await statuses(first)).toEqual(['INTERRUPTED', 'DEPLOYED']);
});

test('the same report counts once when it arrives many times at once', async () => {
  const tenant = await newTenant(store);
  const created = await insert(store, tenant.tenantId, 'shop');
  const seq = 1000;
  await Promise.all(
    Array.from({ length: 8 }, () => sendReport(created, { active_revision: latest(created, 1) }, { seq })),
  );
  expect(await statuses(created)).toEqual(['DEPLOYED']);
  const events = await tenant.scope.read((reader) =>
    listEvents(reader, tenant.tenantId, { deploymentId: created.id }, page),
  );
  expect(events).toHaveLength(2);
  // Later changes continue from there.
  await listener.lease({ release: true });
  listener = protocolClient(hub, 'b');
  await listener.lease();
});

test('simultaneous reports and changes of one deployment cause no retry of a transaction', async () => {
  const tenant = await newTenant(store);
  const created = await insert(store, tenant.tenantId, 'shop');
  for (let round = 0; round < 10; round += 1) {
    const current = await find(tenant, created.id);
    await Promise.all([
      addRevision(tenant, current),
      sendReport(current, { rollout_revision: latest(current, round + 1) }),
    ]);
  }
  expect(await statuses(created)).toHaveLength(11);
  expect(store.logger.lines.filter(({ message }) => message === 'retrying a transaction')).toEqual([]);
});

test('a deployment with only failed builds is UNUSED until it has a new revision', async () => {
  const tenant = await newTenant(store);
  const created = await insert(store, tenant.tenantId, 'shop', {
    source: 'git_host',
    revision: { id: uuidv7(), status: 'AWAITING_BUILD' },
  });
  expect(created.status).toBe('AWAITING_DATABASE');
  await sendReport(created, failedBuild(created, 1));
  expect(await statuses(created)).toEqual(['BUILD_FAILED']);
  const failed = await find(tenant, created.id);
  expect(failed.status).toBe('UNUSED');
  expect((await addRevision(tenant, failed, 'AWAITING_BUILD')).status).toBe('AWAITING_DATABASE');
});

test('a failed build does not affect a deployment whose earlier revision runs', async () => {
  const tenant = await newTenant(store);
  const first = await insert(store, tenant.tenantId, 'shop', { source: 'git_host' });
  await sendReport(first, { active_revision: latest(first, 1) });
  const second = await addRevision(tenant, first, 'BUILDING');
  await sendReport(second, { active_revision: latest(first, 1), ...failedBuild(second, 2) });
  expect(await statuses(first)).toEqual(['DEPLOYED', 'BUILD_FAILED']);
  expect(await find(tenant, first.id)).toMatchObject({
    hasRunnableRevision: true,
    activeRevisionId: first.latestRevisionId,
  });
});

test('a list of revisions is filtered and paged, and shows UNKNOWN while the listener is lost', async () => {
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
  expect(await numbers({ statuses: ['UNKNOWN'] })).toEqual([]);
  await store.sql("UPDATE listeners SET lease_expires_at = now() - interval '1 second'");
  expect(await numbers({ statuses: ['UNKNOWN'] })).toEqual([4]);
  await setStatus(record.latestRevisionId, 'BUILDING');
  expect(await numbers({ statuses: ['UNKNOWN'] })).toEqual([4]);
  // That nothing of it has begun is what the hub itself knows.
  await setStatus(record.latestRevisionId, 'AWAITING_BUILD');
  expect(await numbers({ statuses: ['AWAITING_BUILD'] })).toEqual([4]);
  await listener.lease();
  const other = await newTenant(store);
  expect(
    await other.scope.read((reader) => listRevisions(reader, other.tenantId, record.id, {}, page)),
  ).toEqual([]);
});
