/** Explains the status of a revision over the API while a listener connects, works, fails and disconnects. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type ApiFixture,
  type Client,
  create,
  type Deployment,
  startApi,
  uniqueName,
} from '../../harness/api.ts';
import { observedReport } from '../../harness/hub.ts';

interface Explanation {
  revision_id: string;
  number: number;
  status: string;
  serves: string;
  summary: string;
  causes: {
    level: string;
    condition: string | null;
    object: Record<string, unknown> | null;
    reason: string;
    message: string;
    at: string;
    current: boolean;
  }[];
  remedy: { kind: string; reason: string; text: string } | null;
  knowledge: { current: boolean; at: string | null; age_seconds: number | null };
}

let api: ApiFixture;
let client: Client;
beforeAll(async () => {
  api = await startApi();
  client = await api.tenant();
});
afterAll(() => api?.stop());

async function explain(deployment: Deployment, revisionId = deployment.latest_revision_id ?? '') {
  const url = `/v2/deployments/${deployment.id}/revisions/${revisionId}/explain`;
  const answer = await client.call<Explanation>('GET', url);
  expect(answer.status).toBe(200);
  return answer.body;
}

/** A listener of the tenant's own with its lease, and a deployment that it serves. */
async function served(more: object = {}) {
  const { body: listener } = await client.call<{ id: string }>('POST', '/v2/listeners', {
    compute_id: uniqueName(),
  });
  const url = `/v2/listeners/${listener.id}`;
  const lease = async (change: object = {}) => {
    const answer = await client.call<{ epoch: number }>('PUT', `${url}/lease`, {
      holder: 'a',
      version: '1',
      cluster_version: 'v1.36.0',
      rendering: null,
      epoch: null,
      ...change,
    });
    expect(answer.status).toBe(200);
    return answer.body.epoch;
  };
  const epoch = await lease();
  let seq = 0;
  const report = async (...reports: object[]) => {
    seq += 1;
    const answer = await client.call('POST', `${url}/reports`, { epoch, seq, reports });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  };
  const deployment = await create(client, { ...more, source_config: { listener_id: listener.id } });
  const [row] = await api.store.sql<{ app_name: string; namespace: string }>(
    'SELECT app_name, namespace FROM deployments WHERE id = $1',
    [deployment.id],
  );
  const record = {
    id: deployment.id,
    appName: row?.app_name ?? '',
    namespace: row?.namespace ?? '',
    generation: 1,
  };
  const observed = (change: object) => observedReport(record, change);
  const applied = (generation: number) => ({ kind: 'applied', deployment_id: deployment.id, generation });
  return {
    listenerId: listener.id,
    lease: (change: object) => lease({ epoch, ...change }),
    report,
    deployment,
    observed,
    applied,
  };
}

const condition = (type: string, status: string, reason: string, message = `about ${reason}`) => ({
  type,
  status,
  reason,
  message,
  observedGeneration: 1,
  lastTransitionTime: '2026-01-01T10:00:00Z',
});
const ready = [
  condition('DatabaseReady', 'True', 'DatabaseAvailable'),
  condition('CacheReady', 'True', 'CacheAvailable'),
  condition('Serving', 'True', 'Available'),
];
const reasons = ({ causes }: Explanation) => causes.map(({ reason }) => reason);

test('explain recommends starting a listener when none has ever connected', async () => {
  const explained = await explain(await create(client));
  expect(explained).toMatchObject({
    number: 1,
    status: 'QUEUED',
    serves: 'no',
    remedy: { kind: 'act', reason: 'ListenerNeverSeen' },
    knowledge: { current: false, at: null, age_seconds: null },
  });
  expect(explained.remedy?.text).toContain('berth listener');
});

test('explain describes a deployment before its first report, while it serves, and after its listener is lost', async () => {
  const { listenerId, report, deployment, observed, applied } = await served();
  const ref = { id: deployment.latest_revision_id, number: 1 };
  expect(reasons(await explain(deployment))).toEqual(['Reconciling', 'Reconciling']);

  const starting = condition('DatabaseReady', 'False', 'DatabaseStarting', 'its volume is not bound');
  await report(applied(1), observed({ conditions: [starting] }));
  const waits = await explain(deployment);
  expect(waits).toMatchObject({ status: 'AWAITING_DEPLOY', remedy: { reason: 'DatabaseStarting' } });
  expect(waits.causes.at(-1)).toMatchObject({
    level: 'condition',
    condition: 'DatabaseReady',
    at: '2026-01-01T10:00:00.000Z',
    message: expect.stringContaining('its volume is not bound'),
  });

  await report(observed({ conditions: ready, active_revision: ref }));
  const serves = await explain(deployment);
  expect(serves).toMatchObject({
    status: 'DEPLOYED',
    serves: 'yes',
    summary: 'Revision 1 is deployed and serves.',
    remedy: null,
    knowledge: { current: true },
  });

  await api.store.sql(
    `UPDATE listeners SET lease_expires_at = now() - interval '1 second', last_seen_at = now() - interval '10 minutes'
     WHERE id = $1`,
    [listenerId],
  );
  await api.store.sql(`UPDATE deployments SET observed_at = now() - interval '1 hour' WHERE id = $1`, [
    deployment.id,
  ]);
  const lost = await explain(deployment);
  expect(lost).toMatchObject({ serves: 'unknown', remedy: { kind: 'act', reason: 'ListenerLost' } });
  expect(lost.knowledge.current).toBe(false);
  expect(lost.knowledge.age_seconds).toBeGreaterThanOrEqual(600);
  expect(lost.knowledge.age_seconds).toBeLessThan(3000);
  expect(lost.causes.find(({ level }) => level === 'listener')?.message).toContain('10 minutes old');
});

test('explain shows UNKNOWN and the age of the last observation when the listener cannot reach its cluster', async () => {
  const { lease, report, deployment, observed, applied } = await served();
  const rollout = { id: deployment.latest_revision_id, number: 1 };
  await report(applied(1), observed({ conditions: ready, rollout_revision: rollout }));
  expect(await explain(deployment)).toMatchObject({ status: 'DEPLOYING' });
  await lease({ cluster_reachable: false });
  await api.store.sql(`UPDATE deployments SET observed_at = now() - interval '1 hour' WHERE id = $1`, [
    deployment.id,
  ]);
  const explained = await explain(deployment);
  expect(explained).toMatchObject({ status: 'UNKNOWN', remedy: { reason: 'ClusterUnreachable' } });
  expect(explained.knowledge.age_seconds).toBeGreaterThanOrEqual(3600);
});

test('explain names the failure source of a failed revision, and the successor of a skipped one', async () => {
  const { report, deployment, observed, applied } = await served();
  const first = { id: deployment.latest_revision_id ?? '', number: 1 };
  await report(applied(1), observed({ conditions: ready, active_revision: first }));
  const patchImage = async (tag: string) => {
    const answer = await client.call<Deployment>('PATCH', `/v2/deployments/${deployment.id}`, {
      source_revision_config: { image_uri: `registry.example.com/shop/web:${tag}` },
    });
    expect(answer.status).toBe(200);
    return answer.body;
  };
  const skipped = (await patchImage('2')).latest_revision_id ?? '';
  const patched = await patchImage('3');
  const failed = { id: patched.latest_revision_id ?? '', number: 3 };
  const failure = { ...failed, reason: 'CrashLoop', message: 'api: container app: exit 1' };
  await report(
    applied(3),
    observed({
      observed_spec_generation: 3,
      conditions: ready,
      active_revision: first,
      failed_revision: failure,
    }),
  );
  const failureSource = {
    component: 'api',
    kind: 'Pod',
    object: 'shop-api-1',
    container: 'app',
    container_kind: 'app',
    exit_code: 1,
    detail: 'no such table',
  };
  await api.store.sql('UPDATE revisions SET culprit = $2::jsonb WHERE id = $1', [
    failed.id,
    JSON.stringify(failureSource),
  ]);

  const explained = await explain(deployment, failed.id);
  expect(explained).toMatchObject({ status: 'DEPLOY_FAILED', serves: 'no', remedy: { reason: 'CrashLoop' } });
  expect(explained.causes.at(-1)).toMatchObject({ level: 'object', object: failureSource });
  expect(explained.causes.at(-1)?.message).toContain('exit 1: no such table');
  expect(explained.summary).toContain('Revision 1 is active.');

  const overtaken = await explain(deployment, skipped);
  expect(overtaken).toMatchObject({ status: 'SKIPPED', number: 2 });
  expect(overtaken.causes.at(-1)).toMatchObject({ object: { kind: 'Revision', object: '3', id: failed.id } });
  // The active revision keeps serving.
  expect(await explain(deployment, first.id)).toMatchObject({ serves: 'yes' });
});

test('explain names the masked failure source of an in-place change until the next one, and one event records it', async () => {
  const secrets = [{ name: 'PASSWORD', value: 'canary-in-place' }];
  const { report, deployment, observed, applied } = await served({ secrets });
  const active = { id: deployment.latest_revision_id, number: 1 };
  await report(applied(1), observed({ conditions: ready, active_revision: active }));
  const failureSource = {
    component: 'api',
    kind: 'Pod',
    object: 'shop-api-1',
    container: 'log',
    exit_code: 7,
  };
  const failing = observed({
    conditions: [...ready, condition('Ready', 'False', 'CrashLoop')],
    active_revision: active,
    in_place_failure: {
      reason: 'CrashLoop',
      message: 'api: canary-in-place',
      failure_source: { ...failureSource, detail: 'said canary-in-place' },
    },
  });
  await report(failing);
  await report(failing);
  const explained = await explain(deployment);
  expect(explained).toMatchObject({ status: 'DEPLOYED', serves: 'yes', remedy: { reason: 'CrashLoop' } });
  expect(explained.causes.at(-1)).toMatchObject({
    level: 'object',
    object: { ...failureSource, detail: 'said ***' },
    reason: 'CrashLoop',
    current: true,
  });
  const events = () =>
    api.store.sql<{ message: string; details: object }>(
      `SELECT message, details FROM events WHERE deployment_id = $1 AND message LIKE 'A change of%'`,
      [deployment.id],
    );
  expect(await events()).toEqual([
    {
      message: 'A change of revision 1 failed: api: ***',
      details: { failure_source: { ...failureSource, detail: 'said ***' } },
    },
  ]);

  await report(observed({ conditions: ready, active_revision: active, rollout_revision: active }));
  expect((await explain(deployment)).causes.filter(({ level }) => level === 'object')).toEqual([]);
  expect(await events()).toHaveLength(1);
});

test('reports and rows of the previous version, with `culprit`, name the source of the failure', async () => {
  const { report, deployment, observed, applied } = await served();
  const active = { id: deployment.latest_revision_id ?? '', number: 1 };
  const culprit = { component: 'api', kind: 'Pod', object: 'shop-api-1', container: 'log', exit_code: 7 };
  const failure = { reason: 'CrashLoop', message: 'api: m', culprit };
  const symptom = {
    ...failure,
    component: 'queue',
    culprit: { ...culprit, component: 'queue' },
    since: 'then',
  };
  const failing = {
    conditions: ready,
    active_revision: active,
    in_place_failure: failure,
    symptoms: [symptom],
  };
  await report(applied(1), observed(failing));
  const sources = async (id = active.id) =>
    (await explain(deployment, id)).causes
      .filter(({ level }) => level === 'object')
      .map(({ object }) => object);
  expect(await sources()).toEqual([culprit, symptom.culprit]);

  // The rows have the form of the previous version, which may still serve on the same database.
  const stored = await api.store.sql('SELECT in_place_failure, symptoms FROM deployments WHERE id = $1', [
    deployment.id,
  ]);
  expect(stored).toEqual([{ in_place_failure: failure, symptoms: [symptom] }]);
  const history = async () => {
    const path = `/v2/deployments/${deployment.id}/events?limit=100`;
    const { body } = await client.call<{ resources: { reason: string; details: object }[] }>('GET', path);
    return body.resources.filter(({ reason }) => reason === 'CrashLoop').map(({ details }) => details);
  };
  const first = [{ component: 'queue', failure_source: symptom.culprit }, { failure_source: culprit }];
  expect(await history()).toEqual(expect.arrayContaining(first));
  expect(await history()).toHaveLength(2);

  // The listener of this version reports the same failures under both names: nothing has changed.
  const { culprit: _, ...plain } = failure;
  const both = (source: object) => ({ failure_source: source, culprit: source });
  const again = { ...symptom, ...both(symptom.culprit) };
  await report(observed({ ...failing, in_place_failure: { ...plain, ...both(culprit) }, symptoms: [again] }));
  expect(await sources()).toEqual([culprit, symptom.culprit]);
  expect(await history()).toHaveLength(2);

  const patched = await client.call<Deployment>('PATCH', `/v2/deployments/${deployment.id}`, {
    source_revision_config: { image_uri: 'registry.example.com/shop/web:2' },
  });
  const failed = { id: patched.body.latest_revision_id ?? '', number: 2, ...failure };
  const next = { conditions: ready, active_revision: active, observed_spec_generation: 2 };
  await report(applied(2), observed({ ...next, failed_revision: failed }));
  expect(await explain(deployment, failed.id)).toMatchObject({ status: 'DEPLOY_FAILED' });
  expect(await sources(failed.id)).toEqual([culprit]);
});

test('explain gives the reason when the cluster rejects a deployment, and when it is off or being deleted', async () => {
  const { report, deployment } = await served();
  await report({
    kind: 'refused',
    deployment_id: deployment.id,
    generation: 1,
    reason: 'NamespaceNotAllowed',
    message: 'default is not on the list',
    retryable: true,
  });
  expect(await explain(deployment)).toMatchObject({
    status: 'QUEUED',
    remedy: { kind: 'act', reason: 'NamespaceNotAllowed' },
  });
  const off = { source_config: { resource_spec: { max_scale: 0, min_scale: 0 } } };
  expect((await client.call('PATCH', `/v2/deployments/${deployment.id}`, off)).status).toBe(200);
  expect(reasons(await explain(deployment))).toContain('SwitchedOff');
  await client.call('DELETE', `/v2/deployments/${deployment.id}`);
  expect(reasons(await explain(deployment))).toContain('DeletionRequested');
});

describe('GET …/explain', () => {
  test('returns 404 for a revision of another deployment or tenant, and 422 for an invalid id', async () => {
    const [one, other] = [await create(client), await create(client)];
    const stranger = await api.tenant();
    const url = (deployment: string, revision: string | null) =>
      `/v2/deployments/${deployment}/revisions/${revision}/explain`;
    expect((await client.call('GET', url(one.id, other.latest_revision_id))).status).toBe(404);
    expect((await stranger.call('GET', url(one.id, one.latest_revision_id))).status).toBe(404);
    expect((await client.call('GET', url(one.id, 'latest'))).status).toBe(422);
  });

  test('needs the scope deployments:read, and shows no secret', async () => {
    const secret = 'canary-of-explain';
    const deployment = await create(client, { secrets: [{ name: 'A', value: secret }] });
    const reader = await api.client(client.tenantId, ['deployments:read']);
    const url = `/v2/deployments/${deployment.id}/revisions/${deployment.latest_revision_id}/explain`;
    const answer = await reader.call('GET', url);
    expect(answer.status).toBe(200);
    expect(JSON.stringify(answer.body)).not.toContain(secret);
  });
});
