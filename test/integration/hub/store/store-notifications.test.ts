/** Hints of work: with the commit only, coalesced, and armed again after the connection was lost. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { PLATFORM_LISTENER_ID } from '../../../../src/domain/deployment/source.ts';
import { listenForWork } from '../../../../src/hub/store/core/notifications.ts';
import { insertDeployment } from '../../../../src/hub/store/deployments/deployments.ts';
import { waitFor } from '../../../cluster/wait.ts';
import {
  insert,
  newDeployment,
  newTenant,
  recordingLogger,
  type StoreFixture,
  startStore,
} from '../../harness/store.ts';

const WAIT = { timeoutMs: 20_000, intervalMs: 10 };

let store: StoreFixture;
beforeAll(async () => {
  store = await startStore();
});
afterAll(() => store.stop());

async function listen() {
  const hints: string[][] = [];
  const seen = { hints, rescans: 0 };
  const notifications = listenForWork({
    url: store.url,
    logger: recordingLogger(),
    onWork: (ids) => hints.push([...ids]),
    onRescan: () => {
      seen.rescans += 1;
    },
  });
  onTestFinished(() => notifications.close());
  await notifications.armed;
  return seen;
}

test('a commit sends a hint, a rollback sends none, and several hints are combined', async () => {
  const { tenantId, scope } = await newTenant(store);
  const seen = await listen();
  expect(seen.rescans).toBe(1);
  await scope
    .transaction(async (tx) => {
      await insertDeployment(tx, store.box, tenantId, newDeployment('never'));
      throw new Error('no');
    })
    .catch(() => undefined);
  await scope.transaction(async (tx) => {
    for (const name of ['a', 'b', 'c']) await insertDeployment(tx, store.box, tenantId, newDeployment(name));
    await tx.query(`SELECT pg_notify('berth_work', 'other')`);
  });
  await waitFor('the hints', async () => seen.hints.flat().includes('other'), WAIT);
  expect(seen.hints.flat().sort()).toEqual([PLATFORM_LISTENER_ID, 'other'].sort());
});

test('a lost connection is restored, and a rescan follows', async () => {
  const { tenantId } = await newTenant(store);
  const seen = await listen();
  await store.sql(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND query LIKE 'LISTEN%' AND pid <> pg_backend_pid()`,
  );
  await waitFor('the second rescan', async () => seen.rescans === 2, WAIT);
  await insert(store, tenantId, 'after');
  await waitFor('the hint', async () => seen.hints.length > 0, WAIT);
});
