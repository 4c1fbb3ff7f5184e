/** How sweeps find changes without notifications, and which changes send notifications, on a real PostgreSQL. */
import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { uuidv7 } from '../../../../src/domain/core/id.ts';
import type { Transaction } from '../../../../src/hub/store/core/database.ts';
import { inSavepoint } from '../../../../src/hub/store/core/savepoint.ts';
import {
  announceWatcher,
  type Sweep,
  type SweepPlace,
  sweepChanges,
} from '../../../../src/hub/store/events/change-sweep.ts';
import { insert, newTenant, type StoreFixture, startStore } from '../../harness/store.ts';

let store: StoreFixture;
let tenantId: string;
let early: string;
let late: string;
beforeAll(async () => {
  store = await startStore();
  ({ tenantId } = await newTenant(store));
  early = (await insert(store, tenantId, 'early')).id;
  late = (await insert(store, tenantId, 'late')).id;
});
afterAll(() => store.stop());

const inTransaction = <T>(work: (transaction: Transaction) => Promise<T>) =>
  store.database.platform.transaction(work);

/** A process with streams of tenants. */
async function watcher(tenants: readonly string[] = [tenantId]) {
  const id = uuidv7();
  const announce = (of: readonly string[]) =>
    inTransaction((transaction) => announceWatcher(transaction, id, of));
  await announce(tenants);
  onTestFinished(async () => {
    await store.sql('DELETE FROM change_watchers WHERE id = $1', [id]);
  });
  let place: SweepPlace | null = null;
  const sweep = async (): Promise<Sweep> => {
    const since = place;
    const found = await inTransaction((transaction) => sweepChanges(transaction, id, tenants, since));
    place = found.place;
    return found;
  };
  await sweep();
  // While a transaction of another database is running, the second sweep returns what the first has seen.
  await sweep();
  return { id, announce, sweep };
}

const idsOf = ({ changes }: Sweep) => changes.map(({ deploymentId }) => deploymentId);
const touch = (id: string) => store.sql('UPDATE deployments SET url = $2 WHERE id = $1', [id, uuidv7()]);

/** Begins a transaction that has written, and returns the function that commits it. */
async function begun(write: (transaction: Transaction) => Promise<unknown>): Promise<() => Promise<void>> {
  const [written, committing] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const done = inTransaction(async (transaction) => {
    await write(transaction);
    written.resolve();
    await committing.promise;
  });
  await Promise.race([written.promise, done]);
  return () => {
    committing.resolve();
    return done;
  };
}

const write = (transaction: Transaction, id: string) =>
  transaction.query('UPDATE deployments SET url = $2 WHERE id = $1', [id, uuidv7()]);

test.each([
  ['a transaction', write],
  [
    'a savepoint',
    (transaction: Transaction, id: string) => inSavepoint(transaction, () => write(transaction, id)),
  ],
])('finds what %s wrote that was committed after later ones', async (_what, how) => {
  const { sweep } = await watcher();
  const commit = await begun((transaction) => how(transaction, early));
  await touch(late);
  const before = await sweep();
  await commit();
  const after = await sweep();
  expect([idsOf(before), idsOf(after)]).toEqual([[late], [early]]);
  expect(after.isComplete).toBe(true);
});

test('returns a change once, also while an older transaction is running', async () => {
  const { sweep } = await watcher();
  const commit = await begun((transaction) => write(transaction, early));
  await touch(late);
  expect(idsOf(await sweep())).toEqual([late]);
  expect(idsOf(await sweep())).toEqual([]);
  await touch(late);
  expect(idsOf(await sweep())).toEqual([late]);
  await commit();
  expect(idsOf(await sweep())).toEqual([early]);
  expect(idsOf(await sweep())).toEqual([]);
});

test.each([
  ['from before the last sweep', 'UPDATE change_watchers SET mark = $2 WHERE id = $1'],
  ['from before all sweeps', 'UPDATE change_watchers SET mark = NULL WHERE id = $1 AND $2::uuid IS NOT NULL'],
  ['without the process', 'DELETE FROM change_watchers WHERE id = $1 AND $2::uuid IS NOT NULL'],
])('is not complete on a database with a state %s, as after a failover', async (_what, text) => {
  const { id, sweep, announce } = await watcher();
  const { place } = await sweep();
  await sweep();
  await store.sql(text, [id, place.mark]);
  await touch(early);
  await announce([tenantId]);
  const found = await sweep();
  expect([found.isComplete, found.changes]).toEqual([false, []]);
  await touch(late);
  const next = await sweep();
  expect([next.isComplete, idsOf(next)]).toEqual([true, expect.arrayContaining([late])]);
});

test('finds a listener of the platform whose state has changed and changed back', async () => {
  const { sweep } = await watcher();
  expect((await sweep()).changedListeners).toEqual([]);
  for (let times = 0; times < 2; times += 1)
    await store.sql('UPDATE listeners SET cluster_reachable = NOT cluster_reachable WHERE tenant_id IS NULL');
  // What listeners renew every few seconds is not a part of their state.
  expect((await sweep()).changedListeners).toEqual([null]);
  await store.sql('UPDATE listeners SET last_seen_at = now(), report_seq = report_seq + 1');
  expect((await sweep()).changedListeners).toEqual([]);
});

test('only tenants with streams send notifications, and listeners of the platform send one for all', async () => {
  const other = await newTenant(store);
  const { id: foreign } = await insert(store, other.tenantId, 'foreign');
  const client = new pg.Client({ connectionString: store.url });
  await client.connect();
  onTestFinished(() => client.end());
  const payloads: string[] = [];
  client.on('notification', ({ payload = '' }) => payloads.push(payload.split(' ').slice(0, 2).join(' ')));
  await client.query('LISTEN berth_changes');
  /** Notifications of all changes that were committed before. */
  const received = async () => {
    await client.query('SELECT 1');
    return payloads.splice(0);
  };
  const changeAll = async () => {
    for (const id of [early, foreign]) await touch(id);
    await store.sql('UPDATE listeners SET cluster_reachable = NOT cluster_reachable WHERE tenant_id IS NULL');
  };
  await changeAll();
  expect(await received()).toEqual([]);
  const { announce, id } = await watcher();
  await changeAll();
  expect(await received()).toEqual([`${tenantId} ${early}`, '* all']);
  await announce([other.tenantId]);
  await changeAll();
  expect(await received()).toEqual([`${other.tenantId} ${foreign}`, '* all']);
  await store.sql("UPDATE change_watchers SET expires_at = now() - interval '1 second' WHERE id = $1", [id]);
  await changeAll();
  expect(await received()).toEqual([]);
});

test('removes processes that are gone, with their tenants', async () => {
  const { id } = await watcher();
  await store.sql("UPDATE change_watchers SET expires_at = now() - interval '1 second' WHERE id = $1", [id]);
  await watcher();
  expect(await store.sql('SELECT 1 FROM watched_tenants WHERE watcher_id = $1', [id])).toEqual([]);
});
