/** Records of deployments in a real PostgreSQL: what is written together, and what concurrent writers do to each other. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { uuidv7 } from '../../../../src/domain/core/id.ts';
import type { Transaction } from '../../../../src/hub/store/core/database.ts';
import { ReferenceViolation, StaleWrite, UniqueViolation } from '../../../../src/hub/store/core/errors.ts';
import type { DeploymentRecord, DesiredChange } from '../../../../src/hub/store/core/records.ts';
import {
  findDeployment,
  findDeploymentForUpdate,
  findNameHolder,
  insertDeployment,
  requestDeletion,
  updateDesiredState,
} from '../../../../src/hub/store/deployments/deployments.ts';
import { listRevisions } from '../../../../src/hub/store/deployments/revisions.ts';
import { listEvents } from '../../../../src/hub/store/events/event-list.ts';
import { openSecrets } from '../../../../src/hub/store/secrets/secret-box.ts';
import {
  insert,
  newDeployment,
  newTenant,
  type StoreFixture,
  startStore,
  untilLockWait,
} from '../../harness/store.ts';

let store: StoreFixture;
beforeAll(async () => {
  store = await startStore();
});
afterAll(() => store.stop());

const system = { kind: 'system' } as const;
const page = { limit: 100, offset: 0 };

/** A change that keeps everything but what is given. */
function change(record: DeploymentRecord, more: Partial<DesiredChange> = {}): DesiredChange {
  return {
    expectedGeneration: record.generation,
    sourceConfig: record.sourceConfig,
    sourceRevisionConfig: record.sourceRevisionConfig,
    secrets: { kind: 'set', id: record.secrets?.id ?? null },
    imageVersion: record.imageVersion,
    revision: null,
    actor: system,
    message: 'changed',
    ...more,
  };
}

describe('insertDeployment', () => {
  test('writes deployment, project, revision, secrets and event together', async () => {
    const { tenantId, scope } = await newTenant(store);
    const secrets = [
      { name: 'TOKEN', value: 'päss "1"' },
      { name: 'A', value: '' },
    ];
    const created = await insert(store, tenantId, 'shop', { secrets });
    const found = await scope.read((reader) => findDeployment(reader, tenantId, created.id));
    expect(found).toEqual(created);
    expect(created).toMatchObject({
      tenantId,
      name: 'shop',
      generation: 1,
      acknowledgedGeneration: 0,
      status: 'AWAITING_DATABASE',
      observation: null,
      activeRevisionId: null,
      listener: { everSeen: false, alive: false, lastSeenAt: null },
    });
    expect(openSecrets(store.box, created.secrets)).toEqual(secrets);
    const [revision] = await scope.read((reader) => listRevisions(reader, tenantId, created.id, {}, page));
    expect(revision).toMatchObject({ id: created.latestRevisionId, number: 1, status: 'QUEUED' });
    expect(openSecrets(store.box, revision?.secrets ?? null)).toEqual(secrets);
    const events = await scope.read((reader) =>
      listEvents(reader, tenantId, { deploymentId: created.id }, page),
    );
    expect(events.map(({ reason, revisionId }) => ({ reason, revisionId }))).toEqual([
      { reason: 'Created', revisionId: created.latestRevisionId },
    ]);
    const projects = await store.sql('SELECT name FROM tracing_projects WHERE id = $1', [
      created.tracingProjectId,
    ]);
    expect(projects).toEqual([{ name: 'shop' }]);
  });

  test('creates an UNUSED deployment without a revision, and keeps its secrets', async () => {
    const { tenantId } = await newTenant(store);
    const created = await insert(store, tenantId, 'later', {
      revision: null,
      secrets: [{ name: 'A', value: '1' }],
      imageVersion: null,
    });
    expect(created).toMatchObject({ status: 'UNUSED', latestRevisionId: null, hasRunnableRevision: false });
    expect(openSecrets(store.box, created.secrets)).toEqual([{ name: 'A', value: '1' }]);
  });

  test('stores no readable secret value', async () => {
    const { tenantId } = await newTenant(store);
    const canary = 'canary-4f1b7c';
    await insert(store, tenantId, 'canary', { secrets: [{ name: 'CANARY', value: canary }] });
    for (const table of ['deployments', 'revisions', 'secret_sets', 'events', 'tracing_projects']) {
      const rows = await store.sql<{ text: string }>(`SELECT t::text AS text FROM ${table} t`);
      expect(rows.filter(({ text }) => text.includes(canary))).toEqual([]);
      const encoded = Buffer.from(canary).toString('hex');
      expect(rows.filter(({ text }) => text.includes(encoded))).toEqual([]);
    }
  });

  test('rejects a name that is taken in its tenant, until the deletion of its deployment is requested', async () => {
    const [first, second] = [await newTenant(store), await newTenant(store)];
    const created = await insert(store, first.tenantId, 'shop');
    await expect(insert(store, first.tenantId, 'shop')).rejects.toMatchObject({
      name: 'UniqueViolation',
      constraint: 'deployments_name',
      retryable: false,
    });
    await insert(store, second.tenantId, 'shop');
    const request = { deleteTracingProject: false, actor: system };
    await first.scope.transaction((tx) => requestDeletion(tx, first.tenantId, created.id, request));
    const again = await insert(store, first.tenantId, 'shop');
    expect(again.tracingProjectId).toBe(created.tracingProjectId);
  });

  test('succeeds once for the same name at the same time, and leaves nothing of the others', async () => {
    const { tenantId } = await newTenant(store);
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, () => insert(store, tenantId, 'race')),
    );
    const refused = results.filter((result) => result.status === 'rejected');
    expect(refused).toHaveLength(7);
    for (const { reason } of refused) expect(reason).toBeInstanceOf(UniqueViolation);
    for (const table of ['deployments', 'revisions', 'tracing_projects', 'events']) {
      expect(
        await store.sql(`SELECT count(*)::int AS n FROM ${table} WHERE tenant_id = $1`, [tenantId]),
      ).toEqual([{ n: 1 }]);
    }
  });

  test('rejects a host of custom_url that another tenant uses', async () => {
    const [first, second] = [await newTenant(store), await newTenant(store)];
    const at = (url: string) => ({ sourceConfig: { ...newDeployment('x').sourceConfig, custom_url: url } });
    await insert(store, first.tenantId, 'one', at('https://Shop.example.com/a'));
    await expect(
      insert(store, second.tenantId, 'two', at('https://shop.example.com/b')),
    ).rejects.toMatchObject({
      constraint: 'deployments_route_host',
    });
  });

  test('rejects an unknown listener and writes nothing', async () => {
    const { tenantId } = await newTenant(store);
    await expect(insert(store, tenantId, 'lost', { listenerId: uuidv7() })).rejects.toBeInstanceOf(
      ReferenceViolation,
    );
    expect(await store.sql('SELECT 1 FROM tracing_projects WHERE tenant_id = $1', [tenantId])).toEqual([]);
  });
});

describe('updateDesiredState', () => {
  test('raises the generation without a revision for an in-place change, and makes work due at once', async () => {
    const { tenantId, scope } = await newTenant(store);
    const created = await insert(store, tenantId, 'shop', { secrets: [{ name: 'A', value: '1' }] });
    await store.sql(
      `UPDATE deployments SET next_attempt_at = now() + interval '1 hour', attempts = 3 WHERE id = $1`,
      [created.id],
    );
    const sourceConfig = { ...created.sourceConfig, deployment_type: 'prod' as const };
    const changed = await scope.transaction((tx) =>
      updateDesiredState(tx, store.box, tenantId, created.id, change(created, { sourceConfig })),
    );
    expect(changed).toMatchObject({
      generation: 2,
      latestRevisionId: created.latestRevisionId,
      deploymentType: 'prod',
    });
    expect(changed.secrets).toEqual(created.secrets);
    expect(await scope.read((reader) => findDeployment(reader, tenantId, created.id))).toEqual(changed);
    const [work] = await store.sql<{ due: boolean; attempts: number }>(
      'SELECT next_attempt_at <= now() AS due, attempts FROM deployments WHERE id = $1',
      [created.id],
    );
    expect(work).toEqual({ due: true, attempts: 0 });
  });

  test('creates the next revision with its own secrets, and keeps the status of the older one', async () => {
    const { tenantId, scope } = await newTenant(store);
    const created = await insert(store, tenantId, 'shop', { secrets: [{ name: 'A', value: '1' }] });
    const revision = { id: uuidv7(), status: 'QUEUED' as const };
    const changed = await scope.transaction((tx) =>
      updateDesiredState(
        tx,
        store.box,
        tenantId,
        created.id,
        change(created, { revision, secrets: { kind: 'values', secrets: [{ name: 'A', value: '2' }] } }),
      ),
    );
    expect(changed.latestRevisionId).toBe(revision.id);
    expect(openSecrets(store.box, changed.secrets)).toEqual([{ name: 'A', value: '2' }]);
    const revisions = await scope.read((reader) => listRevisions(reader, tenantId, created.id, {}, page));
    expect(revisions.map(({ number, status, reason }) => ({ number, status, reason }))).toEqual([
      { number: 2, status: 'QUEUED', reason: null },
      { number: 1, status: 'QUEUED', reason: null },
    ]);
    expect(openSecrets(store.box, revisions[1]?.secrets ?? null)).toEqual([{ name: 'A', value: '1' }]);
    const events = await scope.read((reader) =>
      listEvents(reader, tenantId, { deploymentId: created.id }, page),
    );
    expect(events.map(({ reason }) => reason)).toEqual(['Patched', 'Created']);
    const back = await scope.transaction((tx) =>
      updateDesiredState(
        tx,
        store.box,
        tenantId,
        created.id,
        change(changed, {
          revision: { id: uuidv7(), status: 'QUEUED' },
          secrets: { kind: 'set', id: revisions[1]?.secretsId ?? null },
        }),
      ),
    );
    expect(openSecrets(store.box, back.secrets)).toEqual([{ name: 'A', value: '1' }]);
  });

  test('fails for another generation, after a deletion request, and for another tenant', async () => {
    const [own, other] = [await newTenant(store), await newTenant(store)];
    const created = await insert(store, own.tenantId, 'shop');
    const update = (tenant: typeof own, more: Partial<DesiredChange> = {}) =>
      tenant.scope.transaction((tx) =>
        updateDesiredState(tx, store.box, tenant.tenantId, created.id, change(created, more)),
      );
    await expect(update(own, { expectedGeneration: 7 })).rejects.toBeInstanceOf(StaleWrite);
    await expect(update(other)).rejects.toBeInstanceOf(StaleWrite);
    await own.scope.transaction((tx) =>
      requestDeletion(tx, own.tenantId, created.id, { deleteTracingProject: false, actor: system }),
    );
    await expect(update(own, { expectedGeneration: 2 })).rejects.toBeInstanceOf(StaleWrite);
  });

  test('counts each change once and numbers revisions without gaps when many writers run at once', async () => {
    const { tenantId, scope } = await newTenant(store);
    const created = await insert(store, tenantId, 'shop');
    const writers = 25;
    await Promise.all(
      Array.from({ length: writers }, (_, index) =>
        scope.transaction(async (tx) => {
          const current = await findDeploymentForUpdate(tx, tenantId, created.id);
          if (current === null) throw new Error('gone');
          const sourceRevisionConfig = {
            ...current.sourceRevisionConfig,
            image_uri: `registry.example/web:${index}`,
          };
          await updateDesiredState(
            tx,
            store.box,
            tenantId,
            created.id,
            change(current, { sourceRevisionConfig, revision: { id: uuidv7(), status: 'QUEUED' } }),
          );
        }),
      ),
    );
    const final = await scope.read((reader) => findDeployment(reader, tenantId, created.id));
    expect(final?.generation).toBe(writers + 1);
    const revisions = await scope.read((reader) => listRevisions(reader, tenantId, created.id, {}, page));
    expect(revisions.map(({ number }) => number)).toEqual(
      Array.from({ length: writers + 1 }, (_, index) => writers + 1 - index),
    );
    expect(revisions[0]?.id).toBe(final?.latestRevisionId);
    expect(revisions[0]?.sourceRevisionConfig).toEqual(final?.sourceRevisionConfig);
  });

  test('provides its new secrets to a writer that waits for it', async () => {
    const { tenantId, scope } = await newTenant(store);
    const { id } = await insert(store, tenantId, 'shop');
    const lock = async (tx: Transaction) => {
      const current = await findDeploymentForUpdate(tx, tenantId, id);
      if (current === null) throw new Error('gone');
      return current;
    };
    const secrets = [{ name: 'TOKEN', value: 'second' }];
    let waiting: Promise<DeploymentRecord> | undefined;
    await scope.transaction(async (tx) => {
      const current = await lock(tx);
      await updateDesiredState(
        tx,
        store.box,
        tenantId,
        id,
        change(current, { secrets: { kind: 'values', secrets } }),
      );
      waiting = scope.transaction(lock);
      await untilLockWait(store, 'the other one to wait for the lock');
    });
    const found = await waiting;
    expect(found?.generation).toBe(2);
    expect(openSecrets(store.box, found?.secrets ?? null)).toEqual(secrets);
  });

  test('succeeds once for a generation when the writers have not locked the record', async () => {
    const { tenantId, scope } = await newTenant(store);
    const created = await insert(store, tenantId, 'shop');
    const results = await Promise.allSettled(
      Array.from({ length: 10 }, () =>
        scope.transaction((tx) =>
          updateDesiredState(
            tx,
            store.box,
            tenantId,
            created.id,
            change(created, { revision: { id: uuidv7(), status: 'QUEUED' } }),
          ),
        ),
      ),
    );
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(StaleWrite);
    }
    const revisions = await scope.read((reader) => listRevisions(reader, tenantId, created.id, {}, page));
    expect(revisions.map(({ number }) => number)).toEqual([2, 1]);
  });
});

test('finds the holder of a name in each spelling, the normalized one first, and none that is being deleted', async () => {
  const { tenantId, scope } = await newTenant(store);
  const holder = (name: string) => scope.read((reader) => findNameHolder(reader, tenantId, name));
  const [composed, decomposed] = ['caf\u00e9', 'cafe\u0301'];
  expect(await holder(composed)).toBeNull();
  const old = await insert(store, tenantId, decomposed);
  const older = await insert(store, tenantId, 'other');
  await store.sql('UPDATE deployments SET name = $1 WHERE id = $2', [` ${decomposed}`, older.id]);
  for (const name of [composed, decomposed]) expect(await holder(name)).toBe(old.id);
  const normal = await insert(store, tenantId, 'third');
  await store.sql('UPDATE deployments SET name = $1 WHERE id = $2', [composed, normal.id]);
  for (const name of [composed, decomposed]) expect(await holder(name)).toBe(normal.id);
  await store.sql(
    'UPDATE deployments SET delete_requested_at = now(), purge_after = now() WHERE tenant_id = $1',
    [tenantId],
  );
  expect(await holder(composed)).toBeNull();
  const { scope: otherScope, tenantId: other } = await newTenant(store);
  await insert(store, tenantId, 'shop');
  expect(await otherScope.read((reader) => findNameHolder(reader, other, 'shop'))).toBeNull();
});

test('a failed transaction leaves no deployment', async () => {
  const { tenantId, scope } = await newTenant(store);
  await expect(
    scope.transaction(async (tx) => {
      await insertDeployment(tx, store.box, tenantId, newDeployment('never'));
      throw new Error('changed my mind');
    }),
  ).rejects.toThrow('changed my mind');
  expect(await store.sql('SELECT 1 FROM deployments WHERE tenant_id = $1', [tenantId])).toEqual([]);
});
