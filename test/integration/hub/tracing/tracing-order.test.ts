/** What the backend hears of one project is in order, however two senders and a deletion come between each other. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { resync } from '../../../../src/cli/admin/tracing-resync.ts';
import { loadConfig } from '../../../../src/config/index.ts';
import {
  claimMessages,
  enqueueProjects,
  type OutboxMessage,
  recordFailed,
  recordSent,
  releaseMessage,
} from '../../../../src/hub/store/tenancy/outbox.ts';
import {
  deleteTracingProject,
  ensureTracingProject,
} from '../../../../src/hub/store/tenancy/tracing-projects.ts';
import { createTracingBackend } from '../../../../src/hub/tracing/backend.ts';
import { waitFor } from '../../../cluster/wait.ts';
import { newTenant, type StoreFixture, startStore } from '../../harness/store.ts';
import { startTracingBackend } from '../../harness/tracing-backend.ts';

const actor = { kind: 'system', name: 'test' } as const;
const claim = { limit: 8, leaseSeconds: 20 };

let store: StoreFixture;
let tenantId: string;
let projectId: string;
beforeAll(async () => {
  store = await startStore();
  ({ tenantId } = await newTenant(store));
});
afterAll(() => store.stop());
beforeEach(async () => {
  await store.sql('TRUNCATE outbox, tracing_projects CASCADE');
  const project = await platform((tx) => ensureTracingProject(tx, tenantId, randomUUID()));
  projectId = project.id;
  await platform((tx) => enqueueProjects(tx, 10));
});

const platform: StoreFixture['database']['platform']['transaction'] = (work) =>
  store.database.platform.transaction(work);
const take = () => platform((tx) => claimMessages(tx, claim));
const remove = () => platform((tx) => deleteTracingProject(tx, tenantId, projectId, actor));
const kinds = (messages: readonly OutboxMessage[]) =>
  messages.map(({ kind }) => kind.replace('tracing_project.', ''));
const waiting = () =>
  store.sql<{ kind: string; seconds: number }>(
    `SELECT kind, extract(epoch FROM next_attempt_at - now())::float AS seconds FROM outbox ORDER BY kind`,
  );
/** As after the time that it is due at. */
const hurry = () => store.sql('UPDATE outbox SET next_attempt_at = now()');

async function only(): Promise<OutboxMessage> {
  const [message, ...more] = await take();
  if (message === undefined || more.length > 0) throw new Error('failed to claim exactly one message');
  return message;
}

describe('two senders', () => {
  test("wait for each other's claims, and claim no deletion of a project whose creation is in progress", async () => {
    const claimed = Promise.withResolvers<OutboxMessage[]>();
    const commit = Promise.withResolvers<void>();
    const first = platform(async (tx) => {
      claimed.resolve(await claimMessages(tx, claim));
      await commit.promise;
    });
    expect(kinds(await claimed.promise)).toEqual(['created']);
    // Inserted as the deletion does: it would wait for nothing that the claim holds.
    await store.sql(
      `INSERT INTO outbox (id, tenant_id, kind, subject_id, payload)
       VALUES (gen_random_uuid(), $1, 'tracing_project.deleted', $2, '{"name": "x"}')`,
      [tenantId, projectId],
    );
    const second = take();
    await waitFor(
      'the second claim to wait, or to be over',
      async () => {
        const over = await Promise.race([second.then(() => true), Promise.resolve(false)]);
        const [row] = await store.sql<{ n: number }>(
          `SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`,
        );
        return over || (row?.n ?? 0) > 0;
      },
      { timeoutMs: 60_000, intervalMs: 20 },
    );
    commit.resolve();
    await first;
    expect(kinds(await second)).toEqual([]);
  });

  test('delete a project once more when its creation ends after its deletion', async () => {
    const late = await only();
    await remove();
    await hurry();
    const deletion = await only();
    expect(kinds([deletion])).toEqual(['deleted']);
    // The first deletion is over, or just on its way: the creation came after it all the same.
    await platform((tx) => recordSent(tx, late, 'b'));
    await platform((tx) => recordSent(tx, deletion, null));
    const again = await only();
    expect(again).toMatchObject({ kind: 'tracing_project.deleted', subjectId: projectId });
    await platform((tx) => recordSent(tx, again, null));
    expect(await waiting()).toEqual([]);
  });

  test('delete a project once more when its creation ends after its deletion left no message', async () => {
    const late = await only();
    await remove();
    await hurry();
    await platform(async (tx) => void (await tx.query('DELETE FROM outbox')));
    await platform((tx) => recordSent(tx, late, null));
    expect(await waiting()).toMatchObject([{ kind: 'tracing_project.deleted' }]);
  });

  test('leave no message when both record the same creation', async () => {
    const first = await only();
    await hurry();
    const second = await only();
    await platform((tx) => recordSent(tx, second, 'b'));
    await platform((tx) => recordSent(tx, first, 'b'));
    expect(await waiting()).toEqual([]);
    expect(await store.sql('SELECT backend_id FROM tracing_projects')).toEqual([{ backend_id: 'b' }]);
  });
});

describe('a creation without a response', () => {
  const failing = { error: 'no answer within 10 s', retrySeconds: 0, isUnanswered: true };

  test.each([
    ['that timed out', (message: OutboxMessage) => platform((tx) => recordFailed(tx, message, failing))],
    ['that was given back', (message: OutboxMessage) => platform((tx) => releaseMessage(tx, message))],
    ['whose sender is lost', async () => undefined],
  ])('%s leads to a second deletion after a minute, and no more', async (_what, end) => {
    await end(await only());
    await remove();
    await hurry();
    const deletion = await only();
    await platform((tx) => recordSent(tx, deletion, null));
    const [kept, ...more] = await waiting();
    expect([kept?.kind, more]).toEqual(['tracing_project.deleted', []]);
    expect(kept?.seconds).toBeGreaterThan(30);
    await hurry();
    const again = await only();
    await platform((tx) => recordSent(tx, again, null));
    expect(await waiting()).toEqual([]);
  });

  test('differs from a rejected creation, for which one deletion is enough', async () => {
    const refused = { error: 'it answered 400', retrySeconds: 60, isUnanswered: false };
    const creation = await only();
    await platform((tx) => recordFailed(tx, creation, refused));
    await remove();
    const deletion = await only();
    await platform((tx) => recordSent(tx, deletion, null));
    expect(await waiting()).toEqual([]);
  });
});

test.each([
  ['a\u0000b', null],
  ['a\nb', null],
  ['\ud800', null],
  ['x'.repeat(201), null],
  ['', null],
  ['Projekt 7 – größer', 'Projekt 7 – größer'],
  [7, '7'],
])('the project id %j of the backend is stored as %j', async (id, kept) => {
  const backend = await startTracingBackend();
  backend.onCall = () => ({ status: 200, body: JSON.stringify({ id }) });
  try {
    const { create } = createTracingBackend({ url: backend.url, token: null });
    const project = { id: projectId, name: 'a', tenant_id: tenantId, tenant_name: null };
    expect(await create(project, new AbortController().signal)).toBe(kept);
  } finally {
    await backend.stop();
  }
});

test('berth tracing resync sends every project again, also under row-level security', async () => {
  const creation = await only();
  await platform((tx) => recordSent(tx, creation, null));
  expect(await take()).toEqual([]);
  await resync({ config: loadConfig({ DATABASE_URL: store.url }), logger: store.logger });
  await platform((tx) => enqueueProjects(tx, 10));
  expect(await only()).toMatchObject({ kind: 'tracing_project.created', subjectId: projectId });
});
