/** The tracing backend hears of every tracing project: once, in order, and whatever happens to it or to us. */
import { Registry } from 'prom-client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../../../src/hub/store/core/database.ts';
import { removeRecord, requestDeletion } from '../../../../src/hub/store/deployments/deployments.ts';
import { deleteTracingProject } from '../../../../src/hub/store/tenancy/tracing-projects.ts';
import { createTracingBackend } from '../../../../src/hub/tracing/backend.ts';
import { tracingMetrics } from '../../../../src/hub/tracing/metrics.ts';
import {
  startTracingSender,
  type TracingSender,
  type TracingSenderOptions,
} from '../../../../src/hub/tracing/sender.ts';
import { waitFor } from '../../../cluster/wait.ts';
import {
  type ApiFixture,
  type Client,
  create,
  createBody,
  type Deployment,
  startApi,
  uniqueName,
} from '../../harness/api.ts';
import { startTracingBackend, type TracingBackendFixture } from '../../harness/tracing-backend.ts';

const TOKEN = 'a-token-for-the-backend';
const WAIT = { timeoutMs: 60_000, intervalMs: 20 };
const actor = { kind: 'system', name: 'test' } as const;

let api: ApiFixture;
let client: Client;
beforeAll(async () => {
  api = await startApi();
  client = await api.tenant();
});
afterAll(() => api?.stop());

let backend: TracingBackendFixture;
const senders: TracingSender[] = [];
const databases: Database[] = [];
beforeEach(async () => {
  backend = await startTracingBackend();
});
afterEach(async () => {
  await Promise.all(senders.splice(0).map((sender) => sender.stop()));
  await Promise.all(databases.splice(0).map((database) => database.close()));
  await backend.stop();
  await api.store.sql('TRUNCATE outbox');
  await api.store.sql('UPDATE tracing_projects SET backend_synced_at = now()');
});

/** A replica's sender with its own connections; retries come soon. */
function startSender(more: Partial<TracingSenderOptions> & { deadlineMs?: number } = {}): TracingSender {
  const database = openDatabase({ url: api.store.url, poolSize: 4, logger: api.store.logger });
  databases.push(database);
  const { deadlineMs, ...options } = more;
  const sender = startTracingSender({
    database,
    backend: createTracingBackend({ url: backend.url, token: TOKEN, deadlineMs }),
    logger: api.store.logger,
    random: () => 0.05,
    pollMs: 50,
    stopGraceMs: 50,
    ...options,
  });
  senders.push(sender);
  return sender;
}

interface Outbox {
  kind: string;
  subject_id: string;
  attempts: number;
  last_error: string | null;
  seconds: number;
}
const outbox = () =>
  api.store.sql<Outbox>(
    `SELECT kind, subject_id, attempts, last_error, extract(epoch FROM next_attempt_at - now())::float AS seconds
     FROM outbox ORDER BY kind, subject_id`,
  );

/** Whether one message is left, and has failed. */
async function isOnlyOneKept(): Promise<boolean> {
  const [kept, ...more] = await outbox();
  return kept !== undefined && kept.last_error !== null && more.length === 0;
}

const callsOf = (id: string) => backend.calls.filter((call) => call.id === id).map(({ method }) => method);

/** Waits until all messages were sent. */
const settled = () =>
  waitFor(
    'the outbox to be empty',
    async () => {
      const [row] = await api.store.sql<{ n: number }>(
        `SELECT (SELECT count(*) FROM outbox) + (SELECT count(*) FROM tracing_projects WHERE backend_synced_at IS NULL)
         AS n`,
      );
      return Number(row?.n) === 0;
    },
    WAIT,
  );

async function reasonsOf(deploymentId: string): Promise<string[]> {
  const rows = await api.store.sql<{ reason: string }>(
    `SELECT reason FROM events WHERE deployment_id = $1 AND reason LIKE 'Tracing%' ORDER BY id`,
    [deploymentId],
  );
  return rows.map(({ reason }) => reason);
}

/** Removes the record of a deployment with its tracing project, as when its cluster is clean. */
async function purge(deploymentId: string): Promise<void> {
  const scope = api.store.database.forTenant(client.tenantId);
  await scope.transaction((tx) =>
    requestDeletion(tx, client.tenantId, deploymentId, { deleteTracingProject: true, actor }),
  );
  expect(await scope.transaction((tx) => removeRecord(tx, client.tenantId, deploymentId, actor))).toBe(true);
}

const projectRow = async (id: string) => {
  const [row] = await api.store.sql<{ backend_id: string | null; synced: boolean }>(
    'SELECT backend_id, backend_synced_at IS NOT NULL AS synced FROM tracing_projects WHERE id = $1',
    [id],
  );
  return row;
};

describe('a tracing project', () => {
  test('is created at the backend once when the POST is retried, with nothing but its name and owner', async () => {
    startSender();
    const key = { 'idempotency-key': uniqueName('key') };
    const body = createBody({ name: 'Größe & Co', secrets: [{ name: 'A', value: 'hidden' }] });
    const answers = [];
    for (const _ of [1, 2, 3]) {
      answers.push(
        await client.call<{ id: string; tracing_project_id: string }>('POST', '/v2/deployments', body, key),
      );
    }
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    const [{ body: made } = answers[0] ?? { body: { id: '', tracing_project_id: '' } }] = answers;
    await settled();
    const [tenant] = await api.store.sql<{ name: string }>('SELECT name FROM tenants WHERE id = $1', [
      client.tenantId,
    ]);
    expect(backend.calls).toEqual([
      {
        method: 'PUT',
        path: `/hook/projects/${made.tracing_project_id}`,
        id: made.tracing_project_id,
        authorization: `Bearer ${TOKEN}`,
        body: {
          id: made.tracing_project_id,
          name: 'Größe & Co',
          tenant_id: client.tenantId,
          tenant_name: tenant?.name,
        },
      },
    ]);
    expect(await projectRow(made.tracing_project_id)).toEqual({
      backend_id: `backend-${made.tracing_project_id}`,
      synced: true,
    });
    expect(await reasonsOf(made.id)).toEqual(['TracingProjectCreated']);
  });

  test('is not created again when it was kept and is used again', async () => {
    startSender();
    const name = uniqueName();
    const first = await create(client, { name });
    await settled();
    const scope = api.store.database.forTenant(client.tenantId);
    await scope.transaction((tx) =>
      requestDeletion(tx, client.tenantId, first.id, { deleteTracingProject: false, actor }),
    );
    const second = await create(client, { name });
    expect(second.tracing_project_id).toBe(first.tracing_project_id);
    const other = await create(client);
    await settled();
    expect(callsOf(first.tracing_project_id)).toEqual(['PUT']);
    expect(callsOf(other.tracing_project_id)).toEqual(['PUT']);
  });

  test('is not enqueued without a backend, and is sent once when there is one', async () => {
    const made = [await create(client), await create(client)];
    const gone = await create(client);
    await purge(gone.id);
    expect(await outbox()).toEqual([]);
    startSender();
    await settled();
    expect([...backend.projects.keys()].sort()).toEqual(made.map((one) => one.tracing_project_id).sort());
    expect(callsOf(gone.tracing_project_id)).toEqual([]);
  });

  test('is deleted at the backend with its deployment or alone, even if it is unknown there', async () => {
    startSender();
    const [first, second] = [await create(client), await create(client)];
    await settled();
    await purge(first.id);
    await settled();
    expect(callsOf(first.tracing_project_id)).toEqual(['PUT', 'DELETE']);

    backend.projects.delete(second.tracing_project_id);
    const scope = api.store.database.forTenant(client.tenantId);
    await scope.transaction((tx) =>
      requestDeletion(tx, client.tenantId, second.id, { deleteTracingProject: false, actor }),
    );
    await scope.transaction((tx) => removeRecord(tx, client.tenantId, second.id, actor));
    expect(
      await scope.transaction((tx) =>
        deleteTracingProject(tx, client.tenantId, second.tracing_project_id, actor),
      ),
    ).toBe(true);
    await settled();
    expect(callsOf(second.tracing_project_id)).toEqual(['PUT', 'DELETE']);
    expect(backend.projects.has(first.tracing_project_id)).toBe(false);
  });
});

describe('a backend that is down', () => {
  const outages: [string, () => Promise<void> | void, () => Promise<void> | void][] = [
    ['refuses connections', () => backend.down(), () => backend.up()],
    [
      'answers 500',
      () => {
        backend.onCall = () => ({ status: 500, body: 'a body that is nobody’s business' });
      },
      () => {
        backend.onCall = () => null;
      },
    ],
    [
      'does not answer',
      () => {
        const never = new Promise<void>(() => undefined);
        backend.onCall = () => ({ hang: never });
      },
      () => {
        backend.onCall = () => null;
      },
    ],
  ];
  test.each(outages)('delays no POST, and gets each project when it is back (it %s)', async (_, down, up) => {
    // Long enough for an answer on a busy machine: one that is given up once it is back would be sent twice.
    startSender({ deadlineMs: 2_000 });
    await down();
    const made: Deployment[] = [];
    for (let n = 0; n < 12; n++) made.push(await create(client));
    const failed = async () => {
      const reasons = await Promise.all(made.map(({ id }) => reasonsOf(id)));
      return reasons.every((each) => each.includes('TracingProjectFailed'));
    };
    await waitFor('each to have failed', failed, WAIT);
    const kept = await outbox();
    expect(kept.map(({ subject_id }) => subject_id).sort()).toEqual(
      made.map(({ tracing_project_id }) => tracing_project_id).sort(),
    );
    expect(JSON.stringify(await outbox())).not.toContain('business');
    backend.calls.length = 0;
    await up();
    await settled();
    for (const { id, tracing_project_id } of made) {
      expect(callsOf(tracing_project_id)).toEqual(['PUT']);
      expect(await reasonsOf(id)).toEqual(['TracingProjectFailed', 'TracingProjectCreated']);
    }
  });

  test('is not called again before the time in Retry-After', async () => {
    backend.onCall = () => ({ status: 503, headers: { 'retry-after': '120' } });
    startSender();
    await create(client);
    await waitFor(
      'the answer',
      async () => (await outbox())[0]?.last_error === 'it responded with status 503',
      WAIT,
    );
    expect((await outbox())[0]?.seconds).toBeGreaterThan(100);
  });

  test('gets only the deletion of a project that was created and deleted in the meantime', async () => {
    await backend.down();
    const sender = startSender();
    const made = await create(client);
    await waitFor('an attempt', async () => ((await outbox())[0]?.attempts ?? 0) > 2, WAIT);
    await purge(made.id);
    await backend.up();
    sender.wake();
    await settled();
    expect(callsOf(made.tracing_project_id)).toEqual(['DELETE']);
    expect(backend.projects.size).toBe(0);
  });
});

describe('a message that the backend rejects', () => {
  test.each([400, 401, 422, 302])(
    'with %i is kept with the reason, retried slowly, and blocks no other',
    async (status) => {
      const [bad, ...good] = [await create(client), await create(client), await create(client)];
      backend.onCall = ({ id }) =>
        id === bad?.tracing_project_id
          ? { status, body: 'hidden', headers: { location: 'http://127.0.0.1:1/elsewhere' } }
          : null;
      startSender();
      await waitFor(
        'the others to be told',
        async () => backend.projects.size === 2 && (await isOnlyOneKept()),
        WAIT,
      );
      const [kept, ...more] = await outbox();
      expect(more).toEqual([]);
      expect(kept).toMatchObject({ subject_id: bad?.tracing_project_id, attempts: 1 });
      expect(kept?.last_error).toMatch(new RegExp(`^it responded with (?:status|the redirect) ${status}`));
      expect(kept?.seconds).toBeGreaterThan(30);
      for (const { tracing_project_id } of good) expect(callsOf(tracing_project_id)).toEqual(['PUT']);
      expect(JSON.stringify(api.store.logger.lines)).not.toContain(TOKEN);
    },
  );
});

describe('several replicas', () => {
  test('send each project once', async () => {
    const replicas = [startSender(), startSender(), startSender()];
    const made = await Promise.all(Array.from({ length: 60 }, () => create(client)));
    for (const replica of replicas) replica.wake();
    await settled();
    for (const { tracing_project_id } of made) expect(callsOf(tracing_project_id)).toEqual(['PUT']);
  });

  test('send a deletion after the creation that another replica is still sending', async () => {
    const held = Promise.withResolvers<void>();
    backend.onCall = ({ method }) => (method === 'PUT' ? { hang: held.promise } : null);
    startSender();
    const made = await create(client);
    await waitFor('the creation to be on its way', async () => backend.calls.length === 1, WAIT);
    startSender();
    await purge(made.id);
    const other = await create(client);
    await waitFor(
      'the second replica to work',
      async () => callsOf(other.tracing_project_id).length === 1,
      WAIT,
    );
    expect(callsOf(made.tracing_project_id)).toEqual(['PUT']);
    held.resolve();
    await settled();
    expect(callsOf(made.tracing_project_id)).toEqual(['PUT', 'DELETE']);
    expect([...backend.projects.keys()]).toEqual([other.tracing_project_id]);
  });

  test('take over the message of a lost replica, and sending it twice changes nothing', async () => {
    const held = Promise.withResolvers<void>();
    backend.onCall = () => ({ hang: held.promise });
    // Taken by a process that will not come to record it.
    startSender({ leaseMs: 500, deadlineMs: 50_000, stopGraceMs: 50 });
    const made = await create(client);
    await waitFor('the first attempt', async () => backend.calls.length === 1, WAIT);
    startSender({ leaseMs: 500, deadlineMs: 50_000 });
    await waitFor('another attempt', async () => backend.calls.length >= 2, WAIT);
    held.resolve();
    await settled();
    expect(new Set(callsOf(made.tracing_project_id))).toEqual(new Set(['PUT']));
    expect(backend.projects.size).toBe(1);
    expect(await reasonsOf(made.id)).toEqual(['TracingProjectCreated']);
  });

  test('continue at once with the message of a replica that was stopped', async () => {
    const never = new Promise<void>(() => undefined);
    backend.onCall = () => ({ hang: never });
    const stopping = startSender();
    const made = await create(client);
    await waitFor('the first attempt', async () => backend.calls.length === 1, WAIT);
    await stopping.stop();
    expect(await outbox()).toMatchObject([{ attempts: 0, last_error: null }]);
    backend.onCall = () => null;
    startSender();
    await settled();
    expect(callsOf(made.tracing_project_id)).toEqual(['PUT', 'PUT']);
  });
});

test('the metrics show the waiting messages, their age and the outcomes of attempts', async () => {
  const registry = new Registry();
  const onAttempt = tracingMetrics(registry, api.store.database);
  backend.onCall = () => ({ status: 400 });
  startSender({ onAttempt });
  await create(client);
  await waitFor('the refusal', isOnlyOneKept, WAIT);
  const text = await registry.metrics();
  expect(text).toContain('berth_tracing_outbox_pending 1\n');
  const [, oldest] = /^berth_tracing_outbox_oldest_timestamp_seconds (\S+)$/m.exec(text) ?? [];
  expect(Math.abs(Number(oldest) - Date.now() / 1000)).toBeLessThan(600);
  expect(text).toContain('berth_tracing_attempts_total{outcome="refused"} 1');
});
