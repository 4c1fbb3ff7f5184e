import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Report } from '../../../../src/contract/protocol/report-protocol.ts';
import type { ApplyWork, PurgeWork } from '../../../../src/contract/protocol/work-protocol.ts';
import { uuidv7 } from '../../../../src/domain/core/id.ts';
import { PLATFORM_LISTENER_ID } from '../../../../src/domain/deployment/source.ts';
import type { DeploymentRecord, DesiredChange } from '../../../../src/hub/store/core/records.ts';
import {
  findDeploymentForUpdate,
  forgetDeployment,
  requestDeletion,
  restoreDeployment,
  updateDesiredState,
} from '../../../../src/hub/store/deployments/deployments.ts';
import { type HubFixture, observedReport, protocolClient, startHub } from '../../harness/hub.ts';
import { insert, newTenant } from '../../harness/store.ts';

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
afterEach(async () => {
  await hub.store.sql('DELETE FROM deployments');
  await hub.store.sql('DELETE FROM tombstones');
});

const actor = { kind: 'system', name: 'test' } as const;

async function patch(record: DeploymentRecord, more: Partial<DesiredChange> = {}): Promise<DeploymentRecord> {
  const { generation, sourceConfig, sourceRevisionConfig } = record;
  return hub.store.database.forTenant(tenantId).transaction((transaction) =>
    updateDesiredState(transaction, hub.store.box, tenantId, record.id, {
      expectedGeneration: generation,
      sourceConfig,
      sourceRevisionConfig,
      secrets: { kind: 'set', id: record.secrets?.id ?? null },
      imageVersion: null,
      revision: { id: uuidv7(), status: 'QUEUED' },
      actor,
      message: 'changed',
      ...more,
    }),
  );
}

async function take(query = ''): Promise<(ApplyWork | PurgeWork)[]> {
  const answer = await listener.work(query);
  expect(answer.status).toBe(200);
  return answer.body.items;
}
const applied = (record: { id: string; generation: number }): Report => ({
  kind: 'applied',
  deployment_id: record.id,
  generation: record.generation,
});
const revisionStates = async (id: string) =>
  (
    await hub.store.sql<{ status: string }>(
      'SELECT status FROM revisions WHERE deployment_id = $1 ORDER BY number',
      [id],
    )
  ).map(({ status }) => status);
const observedActive = (record: DeploymentRecord, number: number) =>
  observedReport(record, { active_revision: { id: record.latestRevisionId ?? '', number } });
/** As if so much time had passed. */
const later = (seconds: number) =>
  hub.store.sql(`UPDATE deployments SET next_attempt_at = next_attempt_at - make_interval(secs => $1)`, [
    seconds,
  ]);

describe('a work item', () => {
  it('has the spec with every default, its hash, the labels and the environment', async () => {
    const record = await insert(hub.store, tenantId, 'shop', {
      secrets: [{ name: 'TOKEN', value: 's3cret' }],
    });
    const [item] = await take();
    expect(item).toMatchObject({
      kind: 'apply',
      deployment_id: record.id,
      tenant_id: tenantId,
      generation: 1,
      name: record.appName,
      namespace: 'apps',
      create_namespace: false,
      labels: { 'berth.dev/deployment-id': record.id },
      spec: {
        deploymentId: record.id,
        generation: 1,
        suspend: false,
        revision: {
          number: 1,
          image: 'registry.example/web:1.0.0',
          envSecretName: `${record.appName}-env-1`,
        },
      },
      spec_hash: expect.stringMatching(/^[0-9a-f]{16}$/),
      env_secrets: [
        {
          name: `${record.appName}-env-1`,
          revision_number: 1,
          revision_id: record.latestRevisionId,
          data: { TOKEN: 's3cret' },
        },
      ],
      stale_env_secrets: [],
      stale_env_revisions: [],
    });
    expect(JSON.stringify((item as ApplyWork).spec)).not.toContain('s3cret');
  });

  it('is handed out once until it is reported, and again after a timeout', async () => {
    const record = await insert(hub.store, tenantId, 'once');
    expect(await take()).toHaveLength(1);
    expect(await take()).toHaveLength(0);
    await later(60);
    expect(await take()).toHaveLength(1);
    await listener.report([applied(record)]);
    await later(600);
    expect(await take()).toHaveLength(0);
  });

  it('is handed out again at once when its response was lost, until it is reported', async () => {
    const record = await insert(hub.store, tenantId, 'shop');
    expect(await take()).toHaveLength(1);
    expect(await take()).toEqual([]);
    expect(await take('&lost=true')).toMatchObject([{ deployment_id: record.id, generation: 1 }]);
    expect(await take()).toEqual([]);
    await listener.report([applied(record)]);
    expect(await take('&lost=true')).toEqual([]);
  });

  it('of a change is handed out at once although an older item is in progress', async () => {
    const record = await insert(hub.store, tenantId, 'changed');
    await take();
    const changed = await patch(record);
    const [item] = await take();
    expect(item).toMatchObject({ generation: 2, spec: { revision: { number: 2 } } });
    await listener.report([applied(record)]);
    await later(60);
    expect(await take()).toHaveLength(1);
    await listener.report([applied(changed)]);
    await later(60);
    expect(await take()).toHaveLength(0);
  });

  it('moves its revision to AWAITING_DEPLOY with an event, and a later change keeps that status', async () => {
    const record = await insert(hub.store, tenantId, 'handed');
    await take();
    expect(await revisionStates(record.id)).toEqual(['AWAITING_DEPLOY']);
    const events = await hub.store.sql<{ details: object }>(
      'SELECT details FROM events WHERE deployment_id = $1 ORDER BY id DESC LIMIT 1',
      [record.id],
    );
    expect(events).toEqual([{ details: { from: 'QUEUED', to: 'AWAITING_DEPLOY' } }]);
    await patch(record);
    expect(await revisionStates(record.id)).toEqual(['AWAITING_DEPLOY', 'QUEUED']);
  });

  it('leaves its revision QUEUED when the deployment is switched off', async () => {
    const sourceConfig = { ...(await insert(hub.store, tenantId, 'template')).sourceConfig };
    const record = await insert(hub.store, tenantId, 'off', {
      sourceConfig: { ...sourceConfig, resource_spec: { max_scale: 0 } as never },
    });
    const items = await take();
    expect(items.find((item) => item.deployment_id === record.id)).toMatchObject({ spec: { suspend: true } });
    expect(await revisionStates(record.id)).toEqual(['QUEUED']);
  });

  it('is taken from each tenant in turn', async () => {
    const { tenantId: quiet } = await newTenant(hub.store);
    for (let i = 0; i < 8; i += 1) await insert(hub.store, tenantId, `busy-${i}`);
    await insert(hub.store, quiet, 'lonely');
    const tenants = (await take('&limit=2')).map((item) => item.tenant_id);
    expect(new Set(tenants)).toEqual(new Set([tenantId, quiet]));
  });

  it('comes first from the tenant with the fewest items in progress, however long others have waited', async () => {
    const { tenantId: quiet } = await newTenant(hub.store);
    for (let i = 0; i < 8; i += 1) await insert(hub.store, tenantId, `busy-${i}`);
    await take('&limit=3');
    await insert(hub.store, quiet, 'lonely');
    await insert(hub.store, quiet, 'lonely-too');
    const tenants = [await take('&limit=1'), await take('&limit=2')].flat().map((item) => item.tenant_id);
    expect(tenants).toEqual([quiet, quiet, tenantId]);
  });

  it('counts against its tenant only up to the number that the listener processes at once', async () => {
    const { tenantId: other } = await newTenant(hub.store);
    for (let i = 0; i < 14; i += 1) await insert(hub.store, tenantId, `hangs-${i}`);
    for (let i = 0; i < 13; i += 1) await insert(hub.store, other, `hangs-${i}`);
    expect(await take()).toHaveLength(27);
    for (const name of ['first', 'second']) await insert(hub.store, other, name);
    await insert(hub.store, tenantId, 'third');
    const tenants = (await take('&limit=2')).map((item) => item.tenant_id);
    expect(tenants.toSorted()).toEqual([tenantId, other].toSorted());
  });

  it('has the environment of the active revision, and names removable ones', async () => {
    const secrets = [{ name: 'A', value: '1' }];
    let record = await insert(hub.store, tenantId, 'long', { secrets });
    await take();
    const active = record.latestRevisionId ?? '';
    await hub.store.sql(`UPDATE deployments SET active_revision_id = $2 WHERE id = $1`, [record.id, active]);
    for (let number = 2; number <= 14; number += 1) {
      record = await patch(record, {
        secrets: { kind: 'values', secrets: [{ name: 'A', value: String(number) }] },
      });
    }
    const [item] = (await take()) as ApplyWork[];
    expect(item?.env_secrets.map(({ revision_number, data }) => [revision_number, data])).toEqual([
      [14, { A: '14' }],
      [1, { A: '1' }],
    ]);
    expect(item?.stale_env_secrets).toEqual([4, 3, 2].map((number) => `${record.appName}-env-${number}`));
  });

  it('names removable environments until their removal is reported, also after the active revision changes', async () => {
    let record = await insert(hub.store, tenantId, 'burst', { secrets: [{ name: 'A', value: '1' }] });
    const change = async () => {
      const secrets = { kind: 'values' as const, secrets: [{ name: 'A', value: `${record.generation}` }] };
      record = await patch(record, { secrets });
    };
    const stale = async () => {
      const items = (await take()) as ApplyWork[];
      return items.map(({ stale_env_revisions }) => stale_env_revisions);
    };
    await take();
    await listener.report([applied(record), observedActive(record, 1)]);
    // Fifty changes that no listener has taken in between: SKIPPED ones, and perhaps older ones that it had.
    for (let number = 2; number <= 51; number += 1) await change();
    const descending = (from: number, to: number) =>
      Array.from({ length: from - to + 1 }, (_, i) => from - i);
    expect(await stale()).toEqual([descending(41, 2)]);
    // A listener that reported none of them is asked again. Those that it reported as removed are not named again.
    await later(60);
    expect(await stale()).toEqual([descending(41, 2)]);
    await listener.report([{ ...applied(record), gone_env_revisions: descending(41, 4) } as Report]);
    expect(await stale()).toEqual([]);
    await change();
    expect(await stale()).toEqual([[42, 3, 2]]);
    await listener.report([{ ...applied(record), gone_env_revisions: [42, 3, 2] } as Report]);
    // The first one served until now: nothing else would tell the listener that it can go.
    await listener.report([observedActive(record, 52)]);
    expect(await stale()).toEqual([[1]]);
    await listener.report([{ ...applied(record), gone_env_revisions: [1] } as Report]);
    await later(60);
    expect(await stale()).toEqual([]);
    await change();
    expect(await stale()).toEqual([[43]]);
    await listener.report([{ ...applied(record), gone_env_revisions: [43] } as Report]);
    // With nothing left over, the end of a rollout is no work.
    await listener.report([observedActive(record, 53)]);
    await later(60);
    expect(await stale()).toEqual([]);
  });

  describe('for a revision that serves while many newer ones are created', () => {
    let record: DeploymentRecord;
    const stale = async () => ((await take()) as ApplyWork[]).map((item) => item.stale_env_revisions);
    const gone = (...numbers: number[]) => ({ ...applied(record), gone_env_revisions: numbers }) as Report;
    beforeEach(async () => {
      record = await insert(hub.store, tenantId, 'row', { secrets: [{ name: 'A', value: '1' }] });
      await take();
      await listener.report([applied(record), observedActive(record, 1)]);
      for (let number = 2; number <= 12; number += 1) {
        const secrets = [{ name: 'A', value: String(number) }];
        record = await patch(record, { secrets: { kind: 'values', secrets } });
      }
      expect(await stale()).toEqual([[2]]);
    });
    const namesTheFirstOne = async () => {
      expect(await stale()).toEqual([[1]]);
      await listener.report([gone(1)]);
      await later(60);
      expect(await stale()).toEqual([]);
    };

    it('names its environment when the rollout ends, although an older item is acknowledged late', async () => {
      await listener.report([observedActive(record, 12)]);
      const [item] = (await take()) as ApplyWork[];
      const { stale_env_revisions: named, work_version: version = 0 } = item ?? {};
      expect(named).toEqual([2, 1]);
      await listener.report([{ ...gone(2), work_version: version - 1 } as Report]);
      await later(60);
      await namesTheFirstOne();
    });

    it('names its environment once, and then only with the next change while the listener keeps it', async () => {
      await listener.report([observedActive(record, 12)]);
      expect(await stale()).toEqual([[2, 1]]);
      await listener.report([gone(2)]);
      await later(60);
      expect(await stale()).toEqual([]);
      record = await patch(record, { secrets: { kind: 'values', secrets: [{ name: 'A', value: '13' }] } });
      expect(await stale()).toEqual([[3, 1]]);
    });

    it('names its environment when a revision that had failed serves after all', async () => {
      await listener.report([
        {
          kind: 'refused',
          deployment_id: record.id,
          generation: record.generation,
          reason: 'ApplyRefused',
          message: 'a webhook says no',
          retryable: false,
        } as Report,
      ]);
      await later(600);
      expect(await stale()).toEqual([[2]]);
      await listener.report([gone(2)]);
      await later(60);
      expect(await stale()).toEqual([]);
      await listener.report([observedActive(record, 12)]);
      await namesTheFirstOne();
    });
  });

  it('states the failure of the desired revision, the revision to serve and the last observed generation', async () => {
    const secrets = [{ name: 'A', value: '1' }];
    const record = await insert(hub.store, tenantId, 'failed', { secrets });
    const active = record.latestRevisionId ?? '';
    await hub.store.sql(
      `UPDATE deployments SET active_revision_id = $2, observed_generation = 1, observed_at = now() WHERE id = $1`,
      [record.id, active],
    );
    const next = await patch(record, { secrets: { kind: 'values', secrets: [{ name: 'A', value: '2' }] } });
    await hub.store.sql(
      `UPDATE revisions SET status = 'DEPLOY_FAILED', reason = 'CrashLoop', message = 'api: it crashes' WHERE id = $1`,
      [next.latestRevisionId],
    );
    const item = (await take()).find(({ deployment_id }) => deployment_id === record.id);
    expect(item).toMatchObject({
      spec: {
        revision: { number: 2 },
        failed: {
          reason: 'CrashLoop',
          message: 'api: it crashes',
          activeRevision: { id: active, number: 1 },
          observedGeneration: 1,
        },
      },
    });
  });

  it('starts data services for a first build, keeps the former revision for a later one, suspends a failed one', async () => {
    const record = await insert(hub.store, tenantId, 'built', {
      source: 'git_host',
      sourceRevisionConfig: {
        repo_ref: null,
        workflow_config_path: 'w.json',
        image_uri: null,
        repo_commit_sha: null,
      },
      revision: { id: uuidv7(), status: 'AWAITING_BUILD' },
    });
    const spec = async () => {
      await later(60);
      return ((await take())[0] as ApplyWork).spec;
    };
    expect(await spec()).toMatchObject({ suspend: false, revision: { number: 1 } });
    expect((await spec()).revision.image).toBeUndefined();
    expect(await revisionStates(record.id)).toEqual(['AWAITING_BUILD']);
    await hub.store.sql(
      `UPDATE revisions SET status = 'DEPLOYED', resolved_image = 'r/a@sha256:1' WHERE deployment_id = $1`,
      [record.id],
    );
    await patch(record, { revision: { id: uuidv7(), status: 'AWAITING_BUILD' } });
    expect(await spec()).toMatchObject({ revision: { number: 1, image: 'r/a@sha256:1' } });
    await hub.store.sql(`UPDATE revisions SET status = 'BUILD_FAILED' WHERE deployment_id = $1`, [record.id]);
    expect(await spec()).toMatchObject({ suspend: true });
  });

  it('is handed out again at once to a new holder', async () => {
    await insert(hub.store, tenantId, 'moved');
    await take();
    await listener.lease({ release: true });
    listener = protocolClient(hub, 'b');
    await listener.lease();
    expect(await take()).toHaveLength(1);
  });

  it('is handed out again to each further holder, while a refused one keeps its backoff', async () => {
    const record = await insert(hub.store, tenantId, 'twice');
    const refused = await insert(hub.store, tenantId, 'refused');
    await take();
    await later(60);
    expect(await take()).toHaveLength(2);
    await listener.report([
      {
        kind: 'refused',
        deployment_id: refused.id,
        generation: 1,
        reason: 'Refused',
        message: 'no',
        retryable: false,
      },
    ]);
    for (const holder of ['b', 'c']) {
      await listener.lease({ release: true });
      listener = protocolClient(hub, holder);
      await listener.lease();
      expect((await take()).map((item) => item.deployment_id)).toEqual([record.id]);
      expect(await take()).toEqual([]);
    }
  });

  it('is postponed when it cannot be rendered, and blocks no other', async () => {
    const broken = await insert(hub.store, tenantId, 'broken', { secrets: [{ name: 'A', value: '1' }] });
    const sound = await insert(hub.store, tenantId, 'sound');
    await hub.store.sql(`UPDATE secret_sets SET sealed = 'x' WHERE deployment_id = $1`, [broken.id]);
    expect((await take()).map((item) => item.deployment_id)).toEqual([sound.id]);
    expect(await take()).toHaveLength(0);
    const errors = hub.store.logger.lines.filter(({ level }) => level === 'error');
    expect(errors).toContainEqual(
      expect.objectContaining({ fields: expect.objectContaining({ deploymentId: broken.id }) }),
    );
  });
});

describe('waiting for work', () => {
  /** Resolves once what `begin` set going has looked, found nothing, and waits for a hint. */
  async function untilItWaits(begin: () => void): Promise<void> {
    const { hints } = hub;
    const { wait } = hints;
    const begun = Promise.withResolvers<void>();
    hints.wait = (...asked) => {
      begun.resolve();
      return wait(...asked);
    };
    begin();
    await begun.promise;
    hints.wait = wait;
  }
  /** A request that waits for a hint. In an object: its answer is not to be awaited here. */
  async function waiting() {
    let answer: ReturnType<typeof listener.work> | undefined;
    await untilItWaits(() => {
      answer = listener.work('&wait_seconds=20');
    });
    return { answer };
  }

  it('continues after a notification without work, and ends with one that brings work', async () => {
    const { answer } = await waiting();
    await untilItWaits(() => hub.hints.notify([PLATFORM_LISTENER_ID]));
    const record = await insert(hub.store, tenantId, 'waited-for');
    const { platform } = hub.store.database;
    const reads = vi.spyOn(platform, 'read');
    hub.hints.notify([PLATFORM_LISTENER_ID]);
    expect((await answer)?.body.items).toMatchObject([{ deployment_id: record.id }]);
    expect(reads).not.toHaveBeenCalled();
    reads.mockRestore();
  });

  it('returns 409 to a former holder, also after a hint', async () => {
    const { answer } = await waiting();
    await listener.lease({ release: true });
    await protocolClient(hub, 'b').lease();
    await insert(hub.store, tenantId, 'for-the-next');
    hub.hints.notify([PLATFORM_LISTENER_ID]);
    expect((await answer)?.status).toBe(409);
  });

  it('ends with the first hint that brings work', async () => {
    const waiting = listener.work('&wait_seconds=20');
    await insert(hub.store, tenantId, 'waited-for');
    hub.hints.notifyAll();
    expect((await waiting).body.items).toHaveLength(1);
  });

  it('ends without a hint when an item becomes due', async () => {
    const record = await insert(hub.store, tenantId, 'soon');
    await hub.store.sql(`UPDATE deployments SET next_attempt_at = now() + interval '300 ms' WHERE id = $1`, [
      record.id,
    ]);
    expect((await listener.work('&wait_seconds=20')).body.items).toHaveLength(1);
  });

  it('ends without an item when the time is over', async () => {
    expect((await listener.work('&wait_seconds=0.1')).body).toEqual({ items: [] });
  });
});

describe('a purge', () => {
  const requested = ({ id }: DeploymentRecord) =>
    hub.store.database
      .forTenant(tenantId)
      .transaction((transaction) =>
        requestDeletion(transaction, tenantId, id, { deleteTracingProject: false, actor }),
      );
  const forget = ({ id }: DeploymentRecord, tenant = tenantId) =>
    hub.store.database
      .forTenant(tenant)
      .transaction((transaction) =>
        forgetDeployment(transaction, tenant, id, { deleteTracingProject: false, actor }),
      );
  /** As if so much time had passed since. */
  const aged = (seconds: number) =>
    hub.store.sql(
      `UPDATE tombstones SET purged_at = purged_at - make_interval(secs => $1),
         look_again_at = look_again_at - make_interval(secs => $1)`,
      [seconds],
    );
  /** As if its time had come; of so many. */
  const released = async (count: number) =>
    expect(
      await hub.store.sql('UPDATE tombstones SET next_attempt_at = now() WHERE due RETURNING id'),
    ).toHaveLength(count);

  it('removes environments that may exist, and only the newest of those reported as removed', async () => {
    const record = await insert(hub.store, tenantId, 'long', { secrets: [{ name: 'A', value: '1' }] });
    await patch(record);
    await hub.store.sql(
      `UPDATE revisions SET number = number + 600 WHERE deployment_id = $1 AND number = 2`,
      [record.id],
    );
    await hub.store.sql(
      `INSERT INTO revisions SELECT (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(), 'number', n,
         'environment_gone', n > 2))).* FROM revisions r, generate_series(2, 601) AS n WHERE r.deployment_id = $1 AND r.number = 1`,
      [record.id],
    );
    await requested(record);
    const [item] = (await take()) as { env_secrets: string[] }[];
    const numbers = (item?.env_secrets ?? []).map((name) => Number(name.split('-').at(-1)));
    expect([numbers.length, ...numbers.slice(0, 3)]).toEqual([502, 1, 2, 103]);
    await forget(record);
    const [tombstone] = await hub.store.sql('SELECT env_revisions FROM tombstones WHERE id = $1', [
      record.id,
    ]);
    expect(tombstone).toEqual({ env_revisions: numbers });
  });

  it('names every environment, and its report removes the record and leaves a tombstone', async () => {
    const record = await insert(hub.store, tenantId, 'gone', { secrets: [{ name: 'A', value: '1' }] });
    await patch(record);
    await hub.store.database
      .forTenant(tenantId)
      .transaction((transaction) =>
        requestDeletion(transaction, tenantId, record.id, { deleteTracingProject: false, actor }),
      );
    expect(await take()).toMatchObject([
      {
        kind: 'purge',
        deployment_id: record.id,
        name: record.appName,
        namespace: 'apps',
        env_secrets: [`${record.appName}-env-1`, `${record.appName}-env-2`],
      },
    ]);
    await listener.report([{ kind: 'purged', deployment_id: record.id }]);
    expect(await hub.store.sql('SELECT id FROM deployments WHERE id = $1', [record.id])).toEqual([]);
    expect(await hub.store.sql('SELECT due FROM tombstones WHERE id = $1', [record.id])).toEqual([
      { due: false },
    ]);
    expect(await hub.store.sql(`SELECT name FROM tracing_projects WHERE tenant_id = $1`, [tenantId])).toEqual(
      [{ name: 'gone' }],
    );

    const left = {
      deployment_id: record.id,
      name: record.appName,
      namespace: 'apps',
      uid: 'u',
      generation: 1,
      spec_hash: 'x',
      applied_hash: 'x',
    };
    expect((await listener.inventory([left])).body).toEqual({ due: 1, unknown: [] });
    expect(await take()).toMatchObject([{ kind: 'purge', deployment_id: record.id }]);
    await listener.report([{ kind: 'purged', deployment_id: record.id }]);
    expect(await hub.store.sql('SELECT due FROM tombstones WHERE id = $1', [record.id])).toEqual([
      { due: false },
    ]);
  });

  it('is repeated once, with the first complete inventory after a minute, for objects that arrived late', async () => {
    const record = await insert(hub.store, tenantId, 'gone');
    await hub.store.database
      .forTenant(tenantId)
      .transaction((transaction) =>
        requestDeletion(transaction, tenantId, record.id, { deleteTracingProject: false, actor }),
      );
    expect(await take()).toMatchObject([{ kind: 'purge' }]);
    const purged = { kind: 'purged', deployment_id: record.id } as const;
    await listener.report([purged]);
    expect((await listener.inventory([], true)).body).toEqual({ due: 0, unknown: [] });
    await aged(60);
    expect((await listener.inventory([], false)).body).toEqual({ due: 0, unknown: [] });
    expect((await listener.inventory([], true)).body).toEqual({ due: 1, unknown: [] });
    expect(await take()).toMatchObject([{ kind: 'purge', deployment_id: record.id }]);
    await listener.report([purged]);
    await aged(3600);
    expect((await listener.inventory([], true)).body).toEqual({ due: 0, unknown: [] });
    expect(await take()).toEqual([]);
  });

  it('is repeated once, however late the inventory, and also for a found resource and a forced deletion', async () => {
    const late = await insert(hub.store, tenantId, 'late');
    await requested(late);
    await take();
    await listener.report([{ kind: 'purged', deployment_id: late.id }]);
    await aged(7 * 24 * 3600);
    expect((await listener.inventory([], true)).body.due).toBe(1);
    expect(await take()).toHaveLength(1);
    await listener.report([{ kind: 'purged', deployment_id: late.id }]);

    const found = {
      deployment_id: late.id,
      name: late.appName,
      namespace: 'apps',
      uid: 'u',
      generation: 1,
      spec_hash: 'x',
      applied_hash: 'x',
    };
    expect((await listener.inventory([found])).body.due).toBe(1);
    const forgotten = await insert(hub.store, tenantId, 'forgotten');
    await forget(forgotten);
    expect(await take()).toHaveLength(2);
    const purged = [late, forgotten].map(({ id }): Report => ({ kind: 'purged', deployment_id: id }));
    // A purge that takes its time: the minute counts from its end.
    await aged(120);
    await listener.report(purged);
    expect((await listener.inventory([], true)).body.due).toBe(0);
    await aged(60);
    expect((await listener.inventory([], true)).body.due).toBe(2);
    await released(2);
    expect((await take()).map((item) => item.deployment_id).sort()).toEqual([late.id, forgotten.id].sort());
    await listener.report(purged);
    await aged(3600);
    expect((await listener.inventory([], true)).body.due).toBe(0);
  });

  it('is handed out after the due items when the batch has room', async () => {
    const gone = await insert(hub.store, tenantId, 'gone');
    await forget(gone);
    const record = await insert(hub.store, tenantId, 'new');
    expect((await take()).map((item) => [item.kind, item.deployment_id])).toEqual([
      ['apply', record.id],
      ['purge', gone.id],
    ]);
  });

  it('of many deployments is spread to ten a second, also for a new holder', async () => {
    for (let i = 0; i < 30; i += 1) await forget(await insert(hub.store, tenantId, `many-${i}`));
    const items = await take();
    expect(items).toHaveLength(30);
    await listener.report(items.map(({ deployment_id }) => ({ kind: 'purged', deployment_id })));
    await aged(60);
    expect((await listener.inventory([], true)).body.due).toBe(30);
    await listener.lease({ release: true });
    listener = protocolClient(hub, 'b');
    await listener.lease();
    const [row] = await hub.store.sql<{ first: boolean; seconds: number }>(
      `SELECT min(next_attempt_at) <= now() AS first,
         extract(epoch FROM max(next_attempt_at) - min(next_attempt_at))::float8 AS seconds
       FROM tombstones WHERE due AND tenant_id = $1`,
      [tenantId],
    );
    expect(row).toEqual({ first: true, seconds: 2.9 });
  });

  it('of a removed record is retried with backoff after a refusal, and at once by a new holder', async () => {
    const record = await insert(hub.store, tenantId, 'closed');
    await forget(record);
    const refuse = async () => {
      await listener.report([
        {
          kind: 'refused',
          deployment_id: record.id,
          generation: record.generation,
          reason: 'ApplyRefused',
          message: 'no',
          retryable: true,
        },
      ]);
      const [row] = await hub.store.sql<{ minutes: number }>(
        `SELECT round(extract(epoch FROM next_attempt_at - now()) / 60)::int AS minutes FROM tombstones WHERE id = $1`,
        [record.id],
      );
      return row?.minutes;
    };
    const minutes: unknown[] = [];
    for (let i = 0; i < 10; i += 1) {
      expect(await take()).toMatchObject([{ kind: 'purge', deployment_id: record.id }]);
      minutes.push(await refuse());
      expect(await take()).toEqual([]);
      await released(1);
    }
    expect(minutes).toEqual([2, 4, 8, 16, 32, 64, 128, 256, 256, 256]);
    await take();
    await refuse();
    await listener.lease({ release: true });
    listener = protocolClient(hub, 'b');
    await listener.lease();
    expect(await take()).toHaveLength(1);
  });

  it('gets a few places of a batch that other work would fill, tenant by tenant', async () => {
    const { tenantId: quiet } = await newTenant(hub.store);
    for (let i = 0; i < 20; i += 1) await insert(hub.store, tenantId, `apply-${i}`);
    for (let i = 0; i < 5; i += 1) await forget(await insert(hub.store, tenantId, `forgotten-${i}`));
    await forget(await insert(hub.store, quiet, 'forgotten'), quiet);
    const items = await take('&limit=16');
    expect(items.filter(({ kind }) => kind === 'apply')).toHaveLength(14);
    const purges = items.filter(({ kind }) => kind === 'purge').map((item) => item.tenant_id);
    expect(purges.sort()).toEqual([tenantId, quiet].sort());
    expect(await take('&limit=16')).toHaveLength(10);
  });
});

describe('the grace period of a deletion', () => {
  const requested = (record: DeploymentRecord, graceSeconds: number) =>
    hub.store.database.forTenant(tenantId).transaction((transaction) =>
      requestDeletion(transaction, tenantId, record.id, {
        deleteTracingProject: false,
        graceSeconds,
        actor,
      }),
    );
  const restored = (record: DeploymentRecord) =>
    hub.store.database.forTenant(tenantId).transaction(async (transaction) => {
      await findDeploymentForUpdate(transaction, tenantId, record.id);
      return restoreDeployment(transaction, tenantId, record.id, actor);
    });
  /** As if the grace had so much less to go. */
  const nearer = (record: DeploymentRecord, seconds: number) =>
    hub.store.sql(
      `UPDATE deployments SET purge_after = purge_after - make_interval(secs => $2),
         next_attempt_at = next_attempt_at - make_interval(secs => $2) WHERE id = $1`,
      [record.id, seconds],
    );
  const secrets = [{ name: 'A', value: '1' }];

  it('hands out the suspended resource once, and the purge when it is over', async () => {
    const record = await insert(hub.store, tenantId, 'grace', { secrets });
    await take();
    await listener.report([applied(record)]);
    await requested(record, 3600);
    const [item] = (await take()) as ApplyWork[];
    expect(item).toMatchObject({
      kind: 'apply',
      generation: 2,
      spec: { suspend: true, routing: {}, revision: { number: 1, envSecretName: `${record.appName}-env-1` } },
      env_secrets: [{ revision_number: 1, revision_id: record.latestRevisionId }],
    });
    await listener.report([{ kind: 'applied', deployment_id: record.id, generation: 2 }]);
    await nearer(record, 3590);
    await listener.lease({ release: true });
    listener = protocolClient(hub, 'b');
    await listener.lease();
    expect(await take()).toEqual([]);
    await nearer(record, 9.5);
    expect((await listener.work('&wait_seconds=20')).body.items).toMatchObject([
      { kind: 'purge', deployment_id: record.id, env_secrets: [`${record.appName}-env-1`] },
    ]);
  });

  it('ends with the purge although the listener reported nothing or refused the suspension', async () => {
    const silent = await insert(hub.store, tenantId, 'silent');
    const refusing = await insert(hub.store, tenantId, 'refusing');
    for (const record of [silent, refusing]) await requested(record, 30);
    expect(await take()).toHaveLength(2);
    await listener.report([
      {
        kind: 'refused',
        deployment_id: refusing.id,
        generation: 2,
        reason: 'Refused',
        message: 'no',
        retryable: false,
      },
    ]);
    for (const record of [silent, refusing]) await nearer(record, 29.5);
    const found = new Set<string>();
    while (found.size < 2) {
      for (const item of (await listener.work('&wait_seconds=20')).body.items) {
        expect(item.kind).toBe('purge');
        found.add(item.deployment_id);
      }
    }
  });

  it('reverts an edit of the suspended resource, and does not recreate a missing one', async () => {
    const record = await insert(hub.store, tenantId, 'edited');
    await requested(record, 3600);
    const [item] = (await take()) as ApplyWork[];
    await listener.report([{ kind: 'applied', deployment_id: record.id, generation: 2 }]);
    const entry = {
      deployment_id: record.id,
      name: record.appName,
      namespace: 'apps',
      uid: 'u',
      generation: 2,
      spec_hash: item?.spec_hash,
      applied_hash: item?.spec_hash,
    };
    expect((await listener.inventory([entry], true)).body.due).toBe(0);
    expect((await listener.inventory([], true)).body.due).toBe(0);
    expect((await listener.inventory([{ ...entry, spec_hash: 'other' }], true)).body.due).toBe(1);
    expect(await take()).toMatchObject([{ kind: 'apply', generation: 2, spec: { suspend: true } }]);
  });

  it('allows a restore to the previous state until the purge is handed out', async () => {
    const record = await insert(hub.store, tenantId, 'restored', { secrets });
    await requested(record, 3600);
    await take();
    expect(await restored(record)).toMatchObject({ generation: 3, deleteRequestedAt: null });
    expect(await take()).toMatchObject([
      { kind: 'apply', generation: 3, spec: { suspend: false, revision: { id: record.latestRevisionId } } },
    ]);
    await listener.report([{ kind: 'applied', deployment_id: record.id, generation: 3 }]);
    await later(3600);
    expect(await take()).toEqual([]);
    await requested(record, 3600);
    await nearer(record, 3600);
    expect(await take()).toMatchObject([{ kind: 'purge', generation: 4 }]);
    expect(await restored(record)).toBeNull();
  });

  it('ends with either the restore or the purge when both happen at once', async () => {
    for (let round = 0; round < 16; round += 1) {
      const record = await insert(hub.store, tenantId, `race-${round}`);
      await requested(record, 3600);
      await take();
      await listener.report([{ kind: 'applied', deployment_id: record.id, generation: 2 }]);
      await hub.store.sql(
        `UPDATE deployments SET purge_after = now() + make_interval(secs => $2),
           next_attempt_at = now() + make_interval(secs => $2) WHERE id = $1`,
        [record.id, round * 0.002],
      );
      const [items] = await Promise.all([listener.work('&wait_seconds=20'), restored(record)]);
      const back = await hub.store.sql(
        'SELECT 1 FROM deployments WHERE id = $1 AND delete_requested_at IS NULL',
        [record.id],
      );
      expect(items.body.items.map(({ kind }) => kind)).toEqual([back.length === 1 ? 'apply' : 'purge']);
    }
  });

  it('ends with a forced deletion, which hands out a purge with every environment', async () => {
    const record = await insert(hub.store, tenantId, 'forgotten', { secrets });
    await patch(record, { secrets: { kind: 'values', secrets: [{ name: 'A', value: '2' }] } });
    await take();
    await hub.store.database
      .forTenant(tenantId)
      .transaction((transaction) =>
        forgetDeployment(transaction, tenantId, record.id, { deleteTracingProject: true, actor }),
      );
    expect(await hub.store.sql('SELECT 1 FROM deployments WHERE id = $1', [record.id])).toEqual([]);
    const purge = {
      kind: 'purge',
      deployment_id: record.id,
      env_secrets: [`${record.appName}-env-1`, `${record.appName}-env-2`],
    };
    expect(await take()).toMatchObject([purge]);
    expect(await take()).toEqual([]);
    await listener.lease({ release: true });
    listener = protocolClient(hub, 'b');
    await listener.lease();
    expect(await take()).toMatchObject([purge]);
    await listener.report([{ kind: 'purged', deployment_id: record.id }]);
    expect(await hub.store.sql('SELECT due FROM tombstones WHERE id = $1', [record.id])).toEqual([
      { due: false },
    ]);
  });

  it('keeps the workloads after a forced deletion when keep_workloads was requested before', async () => {
    const record = await insert(hub.store, tenantId, 'forgotten');
    await hub.store.database.forTenant(tenantId).transaction(async (transaction) => {
      const asked = { deleteTracingProject: false, actor };
      await requestDeletion(transaction, tenantId, record.id, { ...asked, keepWorkloads: true });
      await forgetDeployment(transaction, tenantId, record.id, asked);
    });
    const purge = { kind: 'purge', deployment_id: record.id, keep_workloads: true };
    const kept = () => hub.store.sql('SELECT kept_workloads FROM tombstones WHERE id = $1', [record.id]);
    expect(await take()).toMatchObject([purge]);
    expect(await kept()).toEqual([{ kept_workloads: true }]);
    // Given up later are its hosts and images, never what runs.
    await hub.store.database
      .forTenant(tenantId)
      .transaction((transaction) =>
        forgetDeployment(transaction, tenantId, record.id, { deleteTracingProject: false, actor }),
      );
    expect(await kept()).toEqual([{ kept_workloads: false }]);
    await hub.store.sql('UPDATE tombstones SET next_attempt_at = now() WHERE id = $1', [record.id]);
    expect(await take()).toMatchObject([purge]);
  });
});
