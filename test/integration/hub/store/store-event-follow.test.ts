/** Events in the order of followers: none is skipped, whatever the order of ids, positions and commits. */
import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { uuidv7, uuidv7At } from '../../../../src/domain/core/id.ts';
import type { Scope, Transaction } from '../../../../src/hub/store/core/database.ts';
import { appendEvents, type NewEvent } from '../../../../src/hub/store/core/events.ts';
import type { EventFilter } from '../../../../src/hub/store/events/event-filter.ts';
import {
  BEFORE_ALL,
  type EventPlace,
  hasEventAt,
  placeBefore,
  placeBeforeNewest,
  readEventHorizon,
  readEventProgress,
  readEventsAfter,
} from '../../../../src/hub/store/events/event-follow.ts';
import { listEvents } from '../../../../src/hub/store/events/event-list.ts';
import { newTenant, type StoreFixture, startStore } from '../../harness/store.ts';

let store: StoreFixture;
beforeAll(async () => {
  store = await startStore();
});
afterAll(() => store?.stop());

const event = (tenantId: string, message: string, more: Partial<NewEvent> = {}): NewEvent => ({
  tenantId,
  actor: { kind: 'system', name: 'test' },
  reason: 'Patched',
  message,
  ...more,
});
const append = (scope: Scope, ...added: NewEvent[]) =>
  scope.transaction((transaction) => appendEvents(transaction, added));

const horizon = () => store.database.platform.read(readEventHorizon);

/** A follower of a tenant that remembers its place. */
function follower(tenantId: string, filter: EventFilter = {}, begin: EventPlace = BEFORE_ALL) {
  const scope = store.database.forTenant(tenantId);
  let place = begin;
  return async (): Promise<string[]> => {
    const { settled } = await horizon();
    const messages: string[] = [];
    for (let more = true; more; ) {
      const read = await scope.read((reader) =>
        readEventsAfter(reader, tenantId, filter, { place, settled }),
      );
      ({ place, more } = read);
      messages.push(...read.events.map(({ message }) => message));
    }
    return messages;
  };
}

/** A session of its own in an open transaction. */
async function openTransaction() {
  const client = new pg.Client({ connectionString: store.url });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(`BEGIN; SET LOCAL berth.tenant_id = '*'`);
  const insert = (tenantId: string, message: string, id = uuidv7()) =>
    client.query(
      `INSERT INTO events (id, tenant_id, actor_kind, reason, message) VALUES ($1, $2, 'system', 'Patched', $3)`,
      [id, tenantId, message],
    );
  return { insert, run: (text: string) => client.query(text), commit: () => client.query('COMMIT') };
}

test('delivers every event once when the later id commits first', async () => {
  const { tenantId, scope } = await newTenant(store);
  const read = follower(tenantId);
  await append(scope, event(tenantId, 'before'));
  expect(await read()).toEqual(['before']);
  const slow = await openTransaction();
  await slow.insert(tenantId, 'early id, late commit');
  await append(scope, event(tenantId, 'late id, early commit'));
  expect(await read()).toEqual([]);
  await slow.commit();
  expect(await read()).toEqual(['early id, late commit', 'late id, early commit']);
  expect(await read()).toEqual([]);
});

test('delivers an event whose id is older than what was read', async () => {
  const { tenantId, scope } = await newTenant(store);
  const read = follower(tenantId);
  await append(scope, event(tenantId, 'first'));
  expect(await read()).toEqual(['first']);
  const behind = await openTransaction();
  await behind.insert(tenantId, 'of a hub whose clock is behind', uuidv7(Date.now() - 3_600_000));
  await behind.insert(tenantId, 'with the oldest id', uuidv7At(1));
  await behind.commit();
  expect(await read()).toEqual(['of a hub whose clock is behind', 'with the oldest id']);
});

test('waits neither for transactions without events nor for transactions that began later', async () => {
  const { tenantId, scope } = await newTenant(store);
  const read = follower(tenantId);
  const idle = await openTransaction();
  await idle.run('CREATE TABLE kept_open (n int)');
  await append(scope, event(tenantId, 'one'));
  expect(await read()).toEqual(['one']);
  const later = await openTransaction();
  await append(scope, event(tenantId, 'two'));
  await later.insert(tenantId, 'three');
  expect(await read()).toEqual(['two']);
  await later.commit();
  expect(await read()).toEqual(['three']);
});

test('continues after events that were rolled back, whole or to a savepoint', async () => {
  const { tenantId, scope } = await newTenant(store);
  const read = follower(tenantId);
  const open = await openTransaction();
  await open.run('SAVEPOINT a');
  await open.insert(tenantId, 'undone');
  await open.run('ROLLBACK TO SAVEPOINT a');
  await append(scope, event(tenantId, 'meanwhile'));
  expect(await read()).toEqual(['meanwhile']);
  await open.insert(tenantId, 'kept');
  await append(scope, event(tenantId, 'last'));
  expect(await read()).toEqual([]);
  await open.commit();
  expect(await read()).toEqual(['kept', 'last']);
  const failed = await openTransaction();
  await failed.insert(tenantId, 'never');
  await append(scope, event(tenantId, 'after'));
  await failed.run('ROLLBACK');
  expect(await read()).toEqual(['after']);
});

test('takes one lock for all events of a transaction, in their order', async () => {
  const { tenantId, scope } = await newTenant(store);
  const messages = Array.from({ length: 450 }, (_, index) => `event ${index}`);
  const locks = `SELECT count(*)::int AS n FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'`;
  const held = await scope.transaction(async (transaction: Transaction) => {
    await appendEvents(
      transaction,
      messages.map((message) => event(tenantId, message)),
    );
    return transaction.query<{ n: number }>(locks);
  });
  expect(held).toEqual([{ n: 1 }]);
  expect(await follower(tenantId)()).toEqual(messages);
});

test('compares positions correctly when their lower 32 bits overflow', async () => {
  const { tenantId, scope } = await newTenant(store);
  for (const boundary of [2 ** 31, 2 ** 32]) {
    await store.sql(`SELECT setval('event_positions', ${boundary - 2})`);
    const read = follower(tenantId);
    await read();
    const open = await openTransaction();
    await open.insert(tenantId, 'first');
    for (const message of ['second', 'third', 'fourth']) await append(scope, event(tenantId, message));
    expect(await read()).toEqual([]);
    await open.commit();
    expect(await read()).toEqual(['first', 'second', 'third', 'fourth']);
  }
});

test('reads events of versions without positions first, in the order of their ids', async () => {
  const { tenantId, scope } = await newTenant(store);
  await append(scope, event(tenantId, 'a'), event(tenantId, 'b'));
  await store.database.platform.transaction((transaction) =>
    transaction.query('UPDATE events SET position = 0 WHERE tenant_id = $1', [tenantId]),
  );
  await append(scope, event(tenantId, 'c'));
  expect(await follower(tenantId)()).toEqual(['a', 'b', 'c']);
});

test('reads only matching events of the own tenant, and finds a place and the newest events', async () => {
  const [ours, theirs] = [await newTenant(store), await newTenant(store)];
  const deploymentId = uuidv7();
  const { tenantId, scope } = ours;
  for (const message of ['1', '2', '3']) {
    await append(scope, event(tenantId, message, { deploymentId }), event(tenantId, `${message} of another`));
    await append(theirs.scope, event(theirs.tenantId, `${message} of another tenant`));
  }
  await append(scope, event(tenantId, '4', { deploymentId, reason: 'Created' }));
  expect(await follower(tenantId, { deploymentId })()).toEqual(['1', '2', '3', '4']);
  expect(await follower(tenantId, { deploymentId, reasons: ['Created'] })()).toEqual(['4']);
  const { settled, at } = await horizon();
  const before = await scope.read((reader) =>
    placeBeforeNewest(reader, tenantId, { deploymentId }, { count: 2, settled }),
  );
  expect(await follower(tenantId, { deploymentId }, before)()).toEqual(['3', '4']);
  const past = new Date(at.getTime() - 60_000);
  const future = new Date(at.getTime() + 60_000);
  expect(await follower(tenantId, { since: past, until: future })()).toHaveLength(7);
  expect(await follower(tenantId, { since: future })()).toEqual([]);
  expect(await follower(tenantId, { until: past })()).toEqual([]);
  const stored = (scoped: Scope, id: string) =>
    scoped.read((reader) => hasEventAt(reader, id, { ...before, id: before.id }));
  expect(await stored(scope, tenantId)).toBe(true);
  expect(await stored(theirs.scope, theirs.tenantId)).toBe(false);
  // Row-level security hides the event, whatever the query says.
  expect(await stored(theirs.scope, tenantId)).toBe(false);
  const all = await store.database.platform.read((reader) =>
    readEventsAfter(reader, null, { reasons: ['Created'] }, { place: before, settled }),
  );
  expect(all.events.map(({ message }) => message)).toEqual(['4']);
});

test('starts after the events that are certainly older when since is set', async () => {
  const { tenantId, scope } = await newTenant(store);
  const hour = 3_600_000;
  const { at: now } = await horizon();
  const ago = (hours: number) => new Date(now.getTime() - hours * hour);
  const add = async (message: string, id: string, at: Date) => {
    await store.database.platform.transaction((transaction) =>
      transaction.query(
        `INSERT INTO events (id, tenant_id, actor_kind, reason, message, at) VALUES ($1, $2, 'system', 'Patched', $3, $4)`,
        [id, tenantId, message, at],
      ),
    );
  };
  for (const hours of [80, 60, 40]) await add(`${hours} h ago`, uuidv7At(ago(hours).getTime()), ago(hours));
  await append(scope, event(tenantId, 'now'));
  await add('of a hub whose clock is far behind', uuidv7At(ago(70).getTime()), ago(0));
  const { settled } = await horizon();
  const from = async (since: Date | undefined) => {
    const place = await scope.read((reader) => placeBefore(reader, tenantId, since, settled));
    return follower(tenantId, {}, place)();
  };
  const recent = ['40 h ago', 'now', 'of a hub whose clock is far behind'];
  expect(await from(undefined)).toEqual(['80 h ago', '60 h ago', ...recent]);
  expect(await from(ago(30))).toEqual(recent);
  expect(await from(ago(40.5))).toEqual(['60 h ago', ...recent]);
  expect(await from(ago(0))).toEqual(recent.slice(1));
  expect(await from(ago(200))).toHaveLength(5);
  // Fewer events match than are requested.
  const few = await scope.read((reader) =>
    placeBeforeNewest(reader, tenantId, { since: ago(0) }, { count: 10, settled }),
  );
  expect(await follower(tenantId, {}, few)()).toEqual(recent.slice(1));
});

test('names the tenants with events since a position, unless there are too many positions', async () => {
  const [ours, theirs] = [await newTenant(store), await newTenant(store)];
  const progress = (after: number) =>
    store.database.platform.read((reader) => readEventProgress(reader, after));
  const { settled } = await horizon();
  expect((await progress(settled)).tenants).toEqual(new Set());
  await append(ours.scope, event(ours.tenantId, '1'), event(ours.tenantId, '2'));
  expect((await progress(settled)).tenants).toEqual(new Set([ours.tenantId]));
  await append(theirs.scope, event(theirs.tenantId, '3'));
  await store.database.platform.transaction((transaction) =>
    appendEvents(transaction, [{ ...event(ours.tenantId, 'of the platform'), tenantId: null }]),
  );
  expect((await progress(settled)).tenants).toEqual(new Set([ours.tenantId, theirs.tenantId, null]));
  await store.sql(`SELECT setval('event_positions', ${settled + 5_000})`);
  expect((await progress(settled)).tenants).toBeNull();
});

test('pages of a list do not shift when events are added', async () => {
  const { tenantId, scope } = await newTenant(store);
  const deploymentId = uuidv7();
  for (const message of ['1', '2', '3', '4', '5'])
    await append(scope, event(tenantId, message, { deploymentId }));
  const seen: string[] = [];
  for (let before: string | undefined; ; ) {
    const page = { limit: 2, offset: 0, before };
    const events = await scope.read((reader) => listEvents(reader, tenantId, { deploymentId }, page));
    if (events.length === 0) break;
    seen.push(...events.map(({ message }) => message));
    before = events.at(-1)?.id;
    await append(scope, event(tenantId, 'new', { deploymentId }));
  }
  expect(seen).toEqual(['5', '4', '3', '2', '1']);
});

test('filters a list by reason and time', async () => {
  const { tenantId, scope } = await newTenant(store);
  await append(scope, event(tenantId, 'made', { reason: 'Created' }), event(tenantId, 'changed'));
  const found = async (filter: EventFilter) => {
    const events = await scope.read((reader) =>
      listEvents(reader, tenantId, filter, { limit: 10, offset: 0 }),
    );
    return events.map(({ message }) => message);
  };
  expect(await found({ reasons: ['Created'] })).toEqual(['made']);
  expect(await found({ reasons: ['Created', 'Patched'] })).toEqual(['changed', 'made']);
  const now = Date.now();
  const [past, future] = [new Date(now - 60_000), new Date(now + 60_000)];
  expect(await found({ since: past, until: future })).toEqual(['changed', 'made']);
  expect(await found({ since: future })).toEqual([]);
  expect(await found({ until: past })).toEqual([]);
  expect(await found({ since: new Date('0000-01-01T00:00:00Z') })).toHaveLength(2);
  expect(await found({ until: new Date('9999-12-31T23:59:59Z') })).toHaveLength(2);
});
