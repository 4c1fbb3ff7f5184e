/** Schedules over HTTP, without a cluster: what is rejected, changes in place, and runs that are requested now. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { resolvePolicy } from '../../../../src/domain/policy/policy.ts';
import { ALL_SCOPES, type ApiFixture, type Client, create, startApi } from '../../harness/api.ts';

let api: ApiFixture;
let client: Client;
const base = resolvePolicy('self_hosted');
const policy = {
  ...base,
  schedules: { max_schedules: 2, min_interval_minutes: 5 },
  tenant_counts: { ...base.tenant_counts, running_tasks: 2 },
};
beforeAll(async () => {
  api = await startApi({ deps: { policy } });
  client = await api.tenant(ALL_SCOPES);
});
afterAll(() => api?.stop());

const NIGHTLY = { name: 'nightly', schedule: '30 2 * * *', command: ['./clean', '$HOME'] };
interface Deployment {
  id: string;
  generation: number;
  latest_revision_id: string;
  source_config: { schedules?: object[] };
}
type Issues = { detail: { loc: (string | number)[]; msg: string }[] };

async function deployment(schedules: object[], of = client): Promise<Deployment> {
  const found = await create(of, {
    source_config: { schedules },
    source_revision_config: { image_uri: 'registry.example.com/shop/web:1' },
  });
  const { id, latest_revision_id: revision } = found;
  await api.store.sql('UPDATE deployments SET active_revision_id = $2 WHERE id = $1', [id, revision]);
  return found as unknown as Deployment;
}
const patch = <T = Deployment>(id: string, source_config: object, query = '') =>
  client.call<T>('PATCH', `/v2/deployments/${id}${query}`, { source_config });
const run = <T = { id: string }>(id: string, name: string, of = client) =>
  of.call<T>('POST', `/v2/deployments/${id}/schedules/${name}/run`, {});

describe('source_config.schedules', () => {
  test('returns the schedules that were sent, and no field when there are no schedules', async () => {
    expect((await deployment([NIGHTLY])).source_config.schedules).toEqual([NIGHTLY]);
    expect((await deployment([])).source_config).not.toHaveProperty('schedules');
  });

  test('changes without a new revision, and a repeated PATCH and an echo change nothing', async () => {
    const { id, latest_revision_id } = await deployment([NIGHTLY]);
    const changed = await patch(id, { schedules: [{ ...NIGHTLY, time_zone: 'Europe/Berlin' }] });
    expect(changed).toMatchObject({ status: 200, body: { latest_revision_id } });
    const again = await patch(id, changed.body.source_config);
    expect(again.body.generation).toBe(changed.body.generation);
    const cleared = await patch(id, { schedules: null });
    expect(cleared.body.source_config).not.toHaveProperty('schedules');
  });

  test('is shown by a dry run, which says that no pods roll', async () => {
    const { id } = await deployment([NIGHTLY]);
    const suspended = [{ ...NIGHTLY, suspend: true }];
    const { status, body } = await patch<Record<string, unknown>>(
      id,
      { schedules: suspended },
      '?dry_run=true',
    );
    expect(status).toBe(200);
    expect(JSON.stringify(body)).toContain('source_config.schedules');
    expect(body['new_revision'] ?? false).toBe(false);
  });

  test.each([
    ['a wrong expression', [{ ...NIGHTLY, schedule: '60 * * * *' }], [0, 'schedule']],
    ['a wrong time zone', [{ ...NIGHTLY, time_zone: 'Berlin' }], [0, 'time_zone']],
    ['two schedules of one name', [NIGHTLY, NIGHTLY], [1, 'name']],
    ['an interval below the policy', [{ ...NIGHTLY, schedule: '* * * * *' }], [0, 'schedule']],
    ['a component that does not exist', [{ ...NIGHTLY, component: 'queue' }], [0, 'component']],
    ['more schedules than the policy allows', ['a', 'b', 'c'].map((name) => ({ ...NIGHTLY, name })), []],
  ])('rejects %s and names the field', async (_what, schedules, loc) => {
    const { id } = await deployment([]);
    const { status, body } = await patch<Issues>(id, { schedules });
    expect([400, 422]).toContain(status);
    expect(body.detail[0]?.loc.filter((step) => step !== 'body')).toEqual([
      'source_config',
      'schedules',
      ...loc,
    ]);
  });
});

describe('POST …/schedules/{schedule}/run', () => {
  test('creates a task with the command of the schedule, also if it is suspended', async () => {
    const { id } = await deployment([{ ...NIGHTLY, suspend: true, timeout_seconds: 60 }]);
    expect(await run(id, 'nightly')).toMatchObject({
      status: 201,
      body: {
        origin: 'schedule',
        schedule: 'nightly',
        command: NIGHTLY.command,
        timeout_seconds: 60,
        state: 'QUEUED',
        created_by: { kind: 'api_key' },
      },
    });
    const listed = await client.call<{ resources: object[] }>('GET', `/v2/deployments/${id}/tasks`);
    expect(listed.body.resources).toMatchObject([{ schedule: 'nightly' }]);
  });

  test('is rejected while a run has not ended, unless the concurrency is allow', async () => {
    const own = await api.tenant(ALL_SCOPES);
    const { id } = await deployment([NIGHTLY, { ...NIGHTLY, name: 'often', concurrency: 'allow' }], own);
    expect((await run(id, 'nightly', own)).status).toBe(201);
    const second = await run<{ detail: string }>(id, 'nightly', own);
    expect(second).toMatchObject({ status: 409, body: { detail: expect.stringContaining('has not ended') } });
    await api.store.sql("UPDATE tasks SET ended_at = now(), state = 'SUCCEEDED' WHERE deployment_id = $1", [
      id,
    ]);
    expect((await run(id, 'often', own)).status).toBe(201);
    expect((await run(id, 'often', own)).status).toBe(201);
    // The quota of running tasks.
    expect((await run(id, 'nightly', own)).status).toBe(400);
  });

  test('is 404 for a schedule that does not exist, and needs tasks:run', async () => {
    const { id } = await deployment([NIGHTLY]);
    expect((await run(id, 'other')).status).toBe(404);
    const reader = await api.tenant(['deployments:read', 'deployments:write']);
    const own = await deployment([NIGHTLY], reader);
    expect((await run(own.id, 'nightly', reader)).status).toBe(403);
  });
});
