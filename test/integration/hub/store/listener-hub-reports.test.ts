import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Report } from '../../../../src/contract/protocol/report-protocol.ts';
import type { ApplyWork } from '../../../../src/contract/protocol/work-protocol.ts';
import { PLATFORM_LISTENER_ID } from '../../../../src/domain/deployment/source.ts';
import type { DeploymentStatus } from '../../../../src/domain/revision/states.ts';
import type { DeploymentRecord } from '../../../../src/hub/store/core/records.ts';
import {
  findDeployment,
  listDeployments,
  requestDeletion,
} from '../../../../src/hub/store/deployments/deployments.ts';
import { type HubFixture, observedReport, protocolClient, startHub } from '../../harness/hub.ts';
import { insert, newDeployment, newTenant } from '../../harness/store.ts';

let hub: HubFixture;
let tenantId: string;
let listener: ReturnType<typeof protocolClient>;

beforeAll(async () => {
  hub = await startHub();
});
afterAll(() => hub.stop());
beforeEach(async () => {
  ({ tenantId } = await newTenant(hub.store));
  await hub.store.sql('UPDATE listeners SET lease_holder = NULL');
  listener = protocolClient(hub, 'a');
  await listener.lease();
});
afterEach(() => hub.store.sql('DELETE FROM deployments'));

const now = new Date().toISOString();
const ready = ['DatabaseReady', 'CacheReady'].map((type) => ({
  type,
  status: 'True' as const,
  reason: 'DatabaseAvailable',
  message: 'm',
  lastTransitionTime: now,
}));

const observed = (record: DeploymentRecord, more: object = {}) =>
  observedReport(record, { conditions: ready, ...more });
const refOf = (record: DeploymentRecord) => ({ id: record.latestRevisionId ?? '', number: 1 });
const read = async (record: DeploymentRecord) =>
  hub.store.database.forTenant(tenantId).read((reader) => findDeployment(reader, tenantId, record.id));
const eventsOf = (id: string) =>
  hub.store.sql<{ reason: string; details: { to?: string } }>(
    'SELECT reason, details FROM events WHERE deployment_id = $1 ORDER BY id',
    [id],
  );

describe('reports', () => {
  it('make the deployment READY and its revision DEPLOYED and active, and record each transition', async () => {
    const record = await insert(hub.store, tenantId, 'shop');
    await listener.work();
    await listener.report([{ kind: 'applied', deployment_id: record.id, generation: 1 }]);
    await listener.report([observed(record, { conditions: [] })]);
    expect(await read(record)).toMatchObject({ status: 'AWAITING_DATABASE', acknowledgedGeneration: 1 });
    await listener.report([observed(record, { rollout_revision: refOf(record) })]);
    await listener.report([
      observed(record, { active_revision: refOf(record), url: 'https://shop.example' }),
    ]);
    expect(await read(record)).toMatchObject({
      status: 'READY',
      activeRevisionId: record.latestRevisionId,
      observation: { generation: 1, url: 'https://shop.example', dataReady: true },
    });
    expect((await eventsOf(record.id)).map(({ reason, details }) => [reason, details.to])).toEqual([
      ['Created', undefined],
      ['Reconciling', 'AWAITING_DEPLOY'],
      ['RolloutInProgress', 'DEPLOYING'],
      ['DatabaseAvailable', 'READY'],
      ['RolloutComplete', 'DEPLOYED'],
    ]);
  });

  it('are applied in their order when one call has several of a deployment', async () => {
    const record = await insert(hub.store, tenantId, 'many');
    await listener.report([
      observed(record, { rollout_revision: refOf(record) }),
      observed(record, { active_revision: refOf(record) }),
    ]);
    expect((await read(record))?.activeRevisionId).toBe(record.latestRevisionId);
    expect(await hub.store.sql('SELECT status FROM revisions WHERE deployment_id = $1', [record.id])).toEqual(
      [{ status: 'DEPLOYED' }],
    );
  });

  it('are acknowledged but not applied when their seq was used before, and may skip a seq', async () => {
    const record = await insert(hub.store, tenantId, 'seq');
    expect((await listener.report([], { seq: 7 })).body).toEqual({ accepted_seq: 7 });
    const repeated = await listener.report([observed(record, { active_revision: refOf(record) })], {
      seq: 7,
    });
    expect(repeated).toMatchObject({ status: 200, body: { accepted_seq: 7 } });
    expect((await read(record))?.activeRevisionId).toBeNull();
    expect(
      (await listener.report([observed(record, { active_revision: refOf(record) })], { seq: 9 })).status,
    ).toBe(200);
    expect((await read(record))?.activeRevisionId).toBe(record.latestRevisionId);
  });

  it('change nothing when they name an unknown deployment or revision, or another namespace', async () => {
    const record = await insert(hub.store, tenantId, 'mine');
    const active = { active_revision: refOf(record) };
    const answer = await listener.report([
      observed(record, { ...active, deployment_id: '01900000-0000-7000-8000-00000000dead' }),
      observed(record, { ...active, namespace: 'attacker' }),
      observed(record, { active_revision: { id: "x'; --", number: 3 } }),
      { kind: 'purged', deployment_id: '01900000-0000-7000-8000-00000000dead' },
    ]);
    expect(answer.status).toBe(200);
    expect(await read(record)).toMatchObject({ status: 'READY', activeRevisionId: null });
  });

  it('of a later listener are accepted without fields that this hub does not know', async () => {
    const record = await insert(hub.store, tenantId, 'later');
    const later = { later: { anything: [1] } };
    const failureSource = { component: 'api', ...later };
    const failed = {
      ...refOf(record),
      reason: 'CrashLoop',
      message: 'm',
      failure_source: failureSource,
      ...later,
    };
    const conditions = ready.map((condition) => ({ ...condition, ...later }));
    const routes = { generation: record.generation, hosts: [], ...later };
    const report = observed(record, { failed_revision: failed, conditions, routes, ...later });
    expect((await listener.report([report])).status).toBe(200);
    expect(
      await hub.store.sql(
        'SELECT status, culprit AS failure_source FROM revisions WHERE deployment_id = $1',
        [record.id],
      ),
    ).toEqual([{ status: 'DEPLOY_FAILED', failure_source: { component: 'api' } }]);
  });

  it('are accepted without characters that PostgreSQL rejects', async () => {
    const record = await insert(hub.store, tenantId, 'nul');
    const failureSource = { component: 'api', exit_code: 1, detail: 'said \u0000\ud800' };
    const failed = {
      ...refOf(record),
      reason: 'CrashLoop',
      message: 'exit\u0000 1 \ud800',
      failure_source: failureSource,
    };
    const conditions = [{ ...ready[0], message: '\u0000' }];
    expect((await listener.report([observed(record, { failed_revision: failed, conditions })])).status).toBe(
      200,
    );
    expect(
      await hub.store.sql(
        'SELECT status, reason, message, culprit AS failure_source FROM revisions WHERE deployment_id = $1',
        [record.id],
      ),
    ).toEqual([
      {
        status: 'DEPLOY_FAILED',
        reason: 'CrashLoop',
        message: 'exit 1 \ufffd',
        failure_source: { ...failureSource, detail: 'said \ufffd' },
      },
    ]);
  });

  it('of a failure are stored without values of secrets that a container printed', async () => {
    const secrets = [
      { name: 'API_KEY', value: 'hunter22-of-the-shop' },
      { name: 'MODE', value: 'fast' },
    ];
    const record = await insert(hub.store, tenantId, 'prints', { secrets });
    const detail = 'said API hunter22-of-the-shop, fast';
    const failureSource = { component: 'api', exit_code: 1, detail };
    const failure = {
      ...refOf(record),
      reason: 'CrashLoop',
      message: `exit 1: ${detail}`,
      failure_source: failureSource,
    };
    const failed = { conditions: [{ ...ready[0], message: detail }], failed_revision: failure };
    expect((await listener.report([observed(record, failed)])).status).toBe(200);
    const refusal = {
      kind: 'refused',
      generation: 1,
      reason: 'Refused',
      message: detail,
      retryable: true,
    } as const;
    expect((await listener.report([{ ...refusal, deployment_id: record.id }])).status).toBe(200);
    const rows = await hub.store.sql(
      `SELECT d.conditions, (SELECT json_agg(r) FROM revisions r WHERE r.deployment_id = d.id) AS revisions,
        (SELECT json_agg(e) FROM events e WHERE e.deployment_id = d.id) AS events FROM deployments d WHERE id = $1`,
      [record.id],
    );
    const text = JSON.stringify(rows);
    expect(text).not.toContain('hunter22');
    expect(text.split('said API ***, fast').length).toBeGreaterThan(5);
  });

  it('of a failure are withheld when the secrets cannot be decrypted for masking', async () => {
    const secrets = [{ name: 'API_KEY', value: 'hunter22-of-the-shop' }];
    const record = await insert(hub.store, tenantId, 'unreadable', { secrets });
    await hub.store.sql("UPDATE secret_sets SET key_id = 'lost' WHERE deployment_id = $1", [record.id]);
    const failureSource = { component: 'api', detail: 'said hunter22-of-the-shop' };
    const failure = {
      ...refOf(record),
      reason: 'CrashLoop',
      message: 'exit 1',
      failure_source: failureSource,
    };
    expect((await listener.report([observed(record, { failed_revision: failure })])).status).toBe(200);
    const [revision] = await hub.store.sql<{ status: string; failure_source: { detail: string } }>(
      'SELECT status, culprit AS failure_source FROM revisions WHERE deployment_id = $1',
      [record.id],
    );
    expect(revision).toMatchObject({ status: 'DEPLOY_FAILED', failure_source: { component: 'api' } });
    expect(revision?.failure_source.detail).toMatch(/^withheld: /);
  });

  it('of a refusal postpone the item with backoff, and fail the revision when the refusal is permanent', async () => {
    const record = await insert(hub.store, tenantId, 'refused');
    const refused = (retryable: boolean): Report => ({
      kind: 'refused',
      deployment_id: record.id,
      generation: 1,
      reason: 'Refused',
      message: 'spec.x: no',
      retryable,
    });
    const delay = async () => {
      const [row] = await hub.store.sql<{ seconds: number }>(
        // Some of it is over by now.
        'SELECT ceil(extract(epoch FROM next_attempt_at - now()))::int AS seconds FROM deployments WHERE id = $1',
        [record.id],
      );
      await hub.store.sql('UPDATE deployments SET next_attempt_at = now() WHERE id = $1', [record.id]);
      return row?.seconds;
    };
    const delays: (number | undefined)[] = [];
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      expect((await listener.work()).body.items).toHaveLength(1);
      await listener.report([refused(true)]);
      delays.push(await delay());
    }
    expect(delays).toEqual([1, 2, 4]);
    expect(await read(record)).toMatchObject({ observation: null, acknowledgedGeneration: 0 });
    await listener.report([refused(false)]);
    expect(await delay()).toBe(600);
    expect(
      await hub.store.sql('SELECT status, message FROM revisions WHERE deployment_id = $1', [record.id]),
    ).toEqual([{ status: 'DEPLOY_FAILED', message: 'spec.x: no' }]);
    expect((await eventsOf(record.id)).filter(({ reason }) => reason === 'Refused')).toHaveLength(2);
  });

  it('of a purge make a deployment due again when it is still desired', async () => {
    const record = await insert(hub.store, tenantId, 'restored');
    await listener.work();
    await listener.report([{ kind: 'applied', deployment_id: record.id, generation: 1 }]);
    await listener.report([{ kind: 'purged', deployment_id: record.id }]);
    expect((await listener.work()).body.items).toMatchObject([{ kind: 'apply', deployment_id: record.id }]);
  });
});

describe('a host that a deployment gives up', () => {
  const held = async () =>
    (await hub.store.sql<{ host: string }>('SELECT host FROM leaving_hosts')).map(({ host }) => host);
  const applied = (record: DeploymentRecord, generation: number) =>
    listener.report([{ kind: 'applied', deployment_id: record.id, generation }]);
  /** In its grace, with a host that a listener knows of. */
  async function left(name: string) {
    const host = `${name}.example.com`;
    const { sourceConfig } = newDeployment(name);
    const custom_url = `https://${host}/app`;
    const record = await insert(hub.store, tenantId, name, { sourceConfig: { ...sourceConfig, custom_url } });
    await listener.work();
    await applied(record, 1);
    await hub.store.database.forTenant(tenantId).transaction((transaction) =>
      requestDeletion(transaction, tenantId, record.id, {
        deleteTracingProject: false,
        graceSeconds: 3600,
        actor: { kind: 'system', name: 'test' },
      }),
    );
    expect(await held()).toEqual([host]);
    return { record, host };
  }
  const seen = (record: DeploymentRecord, generation: number, hosts: string[], more: object = {}) =>
    listener.report([observed(record, { routes: { generation, hosts }, ...more })]);

  it('stays reserved while a route object has it', async () => {
    const { record, host } = await left('finalizer');
    await applied(record, 2);
    await seen(record, 2, [host, 'other.example.com'], { observed_spec_generation: 2 });
    expect(await held()).toEqual([host]);
    await seen(record, 2, ['other.example.com'], { observed_spec_generation: 2 });
    expect(await held()).toEqual([]);
  });

  it('is free when no route has it any more, even if the generation is not acknowledged or in effect', async () => {
    const { record, host } = await left('volume');
    await seen(record, 1, []);
    expect(await held()).toEqual([host]);
    await seen(record, 2, [], { observed_spec_generation: 1 });
    expect(await held()).toEqual([]);
    expect(await read(record)).toMatchObject({ acknowledgedGeneration: 1, observation: { generation: 1 } });
  });

  it('stays reserved after a report of an unknown generation and after a report without routes', async () => {
    const { record, host } = await left('ahead');
    await seen(record, 7, []);
    expect(await held()).toEqual([host]);
    await listener.report([observed(record, { url: null })]);
    await seen(record, 2, [host]);
    await seen(record, 2, [host], { observed_spec_generation: 2 });
    expect(await held()).toEqual([host]);
  });

  it('is free when an operator without route reports shows another URL for the generation', async () => {
    const { record, host } = await left('earlier');
    const tell = (generation: number, url: string | null) =>
      listener.report([observed(record, { observed_spec_generation: generation, url })]);
    await tell(2, `https://${host}/app`);
    await tell(2, `https://${host}`);
    expect(await held()).toEqual([host]);
    await tell(2, 'https://elsewhere.example.com');
    expect(await held()).toEqual([]);
  });
});

describe('a blocked purge', () => {
  it('is recorded with its cause, reported once, and stays with the listener', async () => {
    const record = await insert(hub.store, tenantId, 'blocked');
    await listener.work();
    await listener.report([{ kind: 'applied', deployment_id: record.id, generation: 1 }, observed(record)]);
    await hub.store.database.forTenant(tenantId).transaction((transaction) =>
      requestDeletion(transaction, tenantId, record.id, {
        deleteTracingProject: false,
        actor: { kind: 'system' },
      }),
    );
    const [item] = (await listener.work()).body.items;
    const waiting = (message: string) => ({
      kind: 'refused' as const,
      deployment_id: record.id,
      generation: item?.generation ?? 0,
      reason: 'FinalizerBlocks',
      message,
      retryable: true,
      waiting: true,
    });
    await listener.report([waiting('Pod a is held')]);
    await listener.report([waiting('Pod b is held')]);
    const noted = (await read(record))?.conditions.find(({ type }) => type === 'Deletion');
    expect(noted).toMatchObject({ reason: 'FinalizerBlocks', message: 'Pod b is held' });
    const events = (await eventsOf(record.id)).filter(({ reason }) => reason === 'FinalizerBlocks');
    expect(events).toHaveLength(1);
    expect((await listener.work()).body.items).toEqual([]);
    await listener.report([{ kind: 'purged', deployment_id: record.id }]);
    expect(await read(record)).toBeNull();
  });
});

describe('an inventory', () => {
  async function settled(name: string) {
    const record = await insert(hub.store, tenantId, name);
    const { items } = (await listener.work()).body;
    const item = items.find(({ deployment_id }) => deployment_id === record.id) as ApplyWork;
    await listener.report([{ kind: 'applied', deployment_id: record.id, generation: 1 }, observed(record)]);
    const entry = {
      deployment_id: record.id,
      name: record.appName,
      namespace: record.namespace,
      uid: 'u',
      generation: 1,
      spec_hash: item.spec_hash,
      applied_hash: item.spec_hash,
    };
    return { record, entry };
  }
  const due = async () => (await listener.work()).body.items.map(({ deployment_id }) => deployment_id);

  it('creates no work for a resource in its desired state', async () => {
    const { entry } = await settled('same');
    expect((await listener.inventory([entry], true)).body).toEqual({ due: 0, unknown: [] });
    expect(await due()).toEqual([]);
  });

  it('creates work for an edited resource and records an event', async () => {
    const { record, entry } = await settled('edited');
    expect((await listener.inventory([{ ...entry, spec_hash: 'other', generation: 99 }])).body.due).toBe(1);
    expect(await due()).toEqual([record.id]);
    expect(await read(record)).toMatchObject({ generation: 1, status: 'READY' });
    expect((await eventsOf(record.id)).at(-1)?.reason).toBe('ObjectCorrected');
  });

  it('creates work for a deleted resource and clears what was observed', async () => {
    const { record, entry } = await settled('deleted');
    const url = 'https://deleted.example';
    await listener.report([observed(record, { url })]);
    expect((await read(record))?.observation?.url).toBe(url);
    expect((await listener.inventory([{ ...entry, uid: null }])).body.due).toBe(1);
    expect(await due()).toEqual([record.id]);
    const after = await read(record);
    expect(after?.status).toBe('AWAITING_DATABASE');
    expect(after?.observation?.conditions.map(({ status }) => status)).toEqual(['Unknown', 'Unknown']);
    expect(after?.observation?.url).toBeNull();
    expect((await eventsOf(record.id)).at(-1)?.reason).toBe('ObjectRecreated');
    await listener.report([observed(record, { url })]);
    expect((await read(record))?.observation?.url).toBe(url);
  });

  it.each([false, true])(
    'clears what was observed of a missing resource whose work waits (complete: %s)',
    async (complete) => {
      const { record, entry } = await settled('unsettled');
      const refused = {
        reason: 'NamespaceTerminating',
        message: 'Namespace team is being deleted',
        retryable: true,
      };
      await hub.store.sql('UPDATE deployments SET generation = generation + 1 WHERE id = $1', [record.id]);
      await listener.report([{ kind: 'refused', deployment_id: record.id, generation: 2, ...refused }]);
      const gone = () => listener.inventory(complete ? [] : [{ ...entry, uid: null }], complete);
      expect((await gone()).body.due).toBe(0);
      const after = await read(record);
      expect(after?.status).toBe('AWAITING_DATABASE');
      const shown = (after?.conditions ?? []).map(({ type, status, reason }) => [type, status, reason]);
      expect(shown).toEqual([
        ['DatabaseReady', 'Unknown', 'Reconciling'],
        ['CacheReady', 'Unknown', 'Reconciling'],
        ['Ready', 'False', 'NamespaceTerminating'],
      ]);
      expect((await eventsOf(record.id)).at(-1)).toMatchObject({
        reason: 'Reconciling',
        details: { from: 'READY', to: 'AWAITING_DATABASE' },
      });
      const before = (await eventsOf(record.id)).length;
      await gone();
      expect((await eventsOf(record.id)).length).toBe(before);
    },
  );

  it('creates work for a missing resource only when it is complete', async () => {
    const [one, two] = [await settled('one'), await settled('two')];
    expect((await listener.inventory([one.entry])).body.due).toBe(0);
    expect((await listener.inventory([one.entry], true)).body.due).toBe(1);
    expect(await due()).toEqual([two.record.id]);
  });

  it('does not affect deployments of other namespaces, which are UNKNOWN when the lease excludes them', async () => {
    const { record, entry } = await settled('in-a-namespace');
    const elsewhere = { namespaces: ['elsewhere'] };
    expect((await listener.inventory([], true, elsewhere)).body.due).toBe(0);
    const seenAs = (await read(record))?.status ?? 'UNKNOWN';
    /** As it is read, and which filter finds it. */
    const readBack = async () => {
      const found = async (status: DeploymentStatus) => {
        const filter = { status, deploymentIds: [record.id] };
        const page = { limit: 10, offset: 0 };
        const scope = hub.store.database.forTenant(tenantId);
        return (await scope.read((reader) => listDeployments(reader, tenantId, filter, page))).length;
      };
      return {
        status: (await read(record))?.status,
        asUnknown: await found('UNKNOWN'),
        asSeen: await found(seenAs),
      };
    };
    const unknown = { status: 'UNKNOWN', asUnknown: 1, asSeen: 0 };
    const known = { status: seenAs, asUnknown: 0, asSeen: 1 };
    expect(await readBack()).toEqual(known);
    await listener.lease(elsewhere);
    expect((await read(record))?.listener.unseen).toBe('');
    expect(await readBack()).toEqual(unknown);
    const unreadable_namespaces = [{ namespace: entry.namespace, message: 'forbidden' }];
    await listener.lease({ namespaces: [entry.namespace], unreadable_namespaces });
    expect((await read(record))?.listener.unseen).toBe('forbidden');
    expect(await readBack()).toEqual(unknown);
    const state = await hub.call('GET', `/v2/listeners/${PLATFORM_LISTENER_ID}/lease`);
    expect(state.body).toMatchObject({ used_namespaces: [{ namespace: entry.namespace }] });
    await listener.lease({ namespaces: [] });
    expect((await read(record))?.listener.unseen).toBeNull();
    expect(await readBack()).toEqual(known);
    const seen = { namespaces: [entry.namespace] };
    expect((await listener.inventory([], true, seen)).body.due).toBeGreaterThan(0);
    expect(await due()).toContain(record.id);
  });

  it('keeps the backoff of work that is already due', async () => {
    const record = await insert(hub.store, tenantId, 'backing-off');
    await listener.work();
    expect((await listener.inventory([], true)).body.due).toBe(0);
    expect(await due()).toEqual([]);
    expect((await read(record))?.generation).toBe(1);
  });

  it('returns unknown ids, and ignores a known id in another namespace', async () => {
    const { record, entry } = await settled('known');
    const answer = await listener.inventory([
      entry,
      { ...entry, namespace: 'attacker', uid: 'v' },
      { ...entry, deployment_id: 'by-hand' },
      { ...entry, deployment_id: '01900000-0000-7000-8000-00000000dead' },
    ]);
    expect(answer.body).toEqual({ due: 0, unknown: ['by-hand', '01900000-0000-7000-8000-00000000dead'] });
    expect(await read(record)).toMatchObject({ generation: 1 });
  });

  it('is requested when a report has a generation that the hub does not know', async () => {
    const record = await insert(hub.store, tenantId, 'ahead');
    const identity = { name: record.appName, namespace: record.namespace, deployment_id: record.id };
    const status = { conditions: [], off: false, url: null, active_revision: null };
    const more = { rollout_revision: null, failed_revision: null };
    const observed = { kind: 'observed' as const, ...identity, ...status, ...more };
    const fits = await listener.report([{ ...observed, observed_spec_generation: 1 }]);
    expect(fits.body).not.toHaveProperty('inventory_wanted');
    const ahead = await listener.report([{ ...observed, observed_spec_generation: 9 }]);
    expect(ahead.body).toMatchObject({ inventory_wanted: true });
  });

  it('records an unknown id once, and counts it while it exists', async () => {
    const orphan = (id: string) => ({
      deployment_id: id,
      name: 'orphan',
      namespace: 'apps',
      uid: id,
      generation: 1,
      spec_hash: 'h',
      applied_hash: 'h',
    });
    const readBack = async () =>
      (
        await hub.store.sql<{ id: string }>(
          "SELECT details ->> 'deployment_id' AS id FROM events WHERE reason = 'UnknownResource' AND message LIKE '%orphan-%' ORDER BY id",
        )
      ).map(({ id }) => id);
    const kept = async () => {
      const [row] = await hub.store.sql<{ ids: string[] }>(
        'SELECT unknown_resources AS ids FROM listeners WHERE id = $1',
        [PLATFORM_LISTENER_ID],
      );
      return row?.ids;
    };
    await listener.inventory([orphan('orphan-1')], true);
    await listener.inventory([orphan('orphan-2')]);
    await listener.inventory([orphan('orphan-1'), orphan('orphan-2')], true);
    expect(await readBack()).toEqual(['orphan-1', 'orphan-2']);
    expect(await kept()).toEqual(['orphan-1', 'orphan-2']);
    await listener.inventory([orphan('orphan-2')], true);
    expect(await kept()).toEqual(['orphan-2']);
  });

  it('records some of many unknown ids, and the number of the others', async () => {
    const orphans = Array.from({ length: 300 }, (_, at) => ({
      deployment_id: `crowd-${at}`,
      name: 'orphan',
      namespace: 'apps',
      uid: 'u',
      generation: 1,
      spec_hash: 'h',
      applied_hash: 'h',
    }));
    const before = (await hub.store.sql("SELECT 1 FROM events WHERE reason = 'UnknownResource'")).length;
    await listener.inventory(orphans, true);
    const events = await hub.store.sql<{ details: object; message: string }>(
      "SELECT details, message FROM events WHERE reason = 'UnknownResource' ORDER BY id",
    );
    expect(events).toHaveLength(before + 21);
    expect(events.at(-1)).toMatchObject({
      details: { more: 280 },
      message: expect.stringContaining('contains 280 more ManagedDeployments that the hub does not know'),
    });
  });

  it('raises the desired generation above a later one that a restored hub does not know', async () => {
    const { record, entry } = await settled('restored');
    const later = { ...entry, generation: 9, spec_hash: 'h9', applied_hash: 'h9' };
    expect((await listener.inventory([later], true)).body.due).toBe(1);
    expect((await read(record))?.generation).toBe(10);
    expect((await listener.work()).body.items).toMatchObject([{ generation: 10, spec: { generation: 10 } }]);
  });

  it('does not affect a deployment that is suspended for its grace period', async () => {
    const { record } = await settled('deleting');
    await hub.store.database.forTenant(tenantId).transaction((transaction) =>
      requestDeletion(transaction, tenantId, record.id, {
        deleteTracingProject: false,
        graceSeconds: 3600,
        actor: { kind: 'system' },
      }),
    );
    expect(await due()).toEqual([record.id]);
    await listener.report([{ kind: 'applied', deployment_id: record.id, generation: 2 }]);
    expect((await listener.inventory([], true)).body.due).toBe(0);
    await listener.lease({ release: true });
    listener = protocolClient(hub, 'b');
    await listener.lease();
    expect(await due()).toEqual([]);
  });
});

describe('shutdown of the hub', () => {
  it('answers waiting requests at once', async () => {
    const own = await startHub();
    const client = protocolClient(own, 'a');
    await client.lease();
    const waiting = client.work('&wait_seconds=25');
    const closed = own.app.close();
    expect((await waiting).body).toEqual({ items: [] });
    await closed;
    await own.stop();
  });
});
