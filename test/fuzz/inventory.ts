/** What the requests of the fuzzing are about: one of each thing, and apart from these, things that may go. */
import type { ApiFixture, Client } from '../integration/harness/api.ts';
import { create, uniqueName } from '../integration/harness/api.ts';
import { accessToken, logRequest, person, task } from '../integration/harness/requests.ts';

/** Values of parameters by `place.name`: of every operation, and of single operations by `METHOD path`. */
export interface Pins {
  readonly all: Readonly<Record<string, string | number>>;
  readonly operations: Readonly<Record<string, Readonly<Record<string, string | number>>>>;
}

/** Makes a thing. @throws unless 201 */
async function made(client: Client, path: string, body: object): Promise<string> {
  const answer = await client.call<{ id: string }>('POST', path, body);
  if (answer.status !== 201) throw new Error(`failed to POST ${path}: ${JSON.stringify(answer.body)}`);
  return answer.body.id;
}

async function did(client: Client, method: 'PUT' | 'DELETE', path: string, body?: object): Promise<void> {
  const { status, body: answer } = await client.call(method, path, body);
  if (status >= 300) throw new Error(`failed to ${method} ${path}: ${status} ${JSON.stringify(answer)}`);
}

/** A deployment that can run in either hosting mode. */
const deployment = (client: Client) =>
  create(client, {
    source: 'internal_image',
    secrets: [{ name: 'PAYMENT_TOKEN', value: 'example' }],
  });

const SCHEDULE = { name: 'nightly', schedule: '@daily', command: ['migrate'], concurrency: 'allow' };

/** A deployment with an active revision, whose schedule can run at any time. */
async function scheduled(api: ApiFixture, client: Client): Promise<string> {
  const { id, latest_revision_id: revision } = await create(client, {
    source: 'internal_image',
    source_config: { schedules: [SCHEDULE] },
    secrets: [],
  });
  await api.store.sql('UPDATE deployments SET active_revision_id = $2 WHERE id = $1', [id, revision]);
  return id;
}

const integration = (client: Client) =>
  made(client, '/v2/integrations', {
    name: uniqueName('git'),
    provider: 'github',
    host_url: 'https://git.example.com',
    token: 'example',
  });

const listener = (client: Client) => made(client, '/v2/listeners', { compute_id: uniqueName('cluster') });
const tagKey = (client: Client) => made(client, '/v2/tag-keys', { key: uniqueName('key') });
const tagValue = (client: Client, key: string) =>
  made(client, `/v2/tag-keys/${key}/values`, { value: uniqueName('value') });
const tenant = (client: Client) => made(client, '/v2/tenants', { name: uniqueName('tenant') });
const apiKey = (client: Client) =>
  made(client, '/v2/api-keys', { name: uniqueName('key'), scopes: ['deployments:read'] });

/** A listener whose lease is held, at epoch 1, by nobody who fuzzes. */
async function leasedListener(client: Client): Promise<string> {
  const id = await listener(client);
  const lease = { holder: 'held', version: '1', cluster_version: 'v1.36.0', rendering: null, epoch: null };
  await did(client, 'PUT', `/v2/listeners/${id}/lease`, lease);
  return id;
}

/** A tracing project whose deployment is no more. */
async function leftProject(client: Client): Promise<string> {
  const { id, tracing_project_id: project } = await deployment(client);
  await did(client, 'DELETE', `/v2/deployments/${id}?force=true`);
  return project;
}

/** A task that the cluster has reported, so that it has logs. */
async function runningTask(api: ApiFixture, ids: Parameters<typeof task>[1]): Promise<string> {
  const id = await task(api, ids);
  await api.store.sql(`UPDATE tasks SET resource_uid = $2, state = 'RUNNING' WHERE id = $1`, [
    id,
    '6f1d9f0e-0000-4000-8000-000000000001',
  ]);
  return id;
}

/** Makes it all for the tenant of a client whose key has every scope. */
export async function inventory(api: ApiFixture): Promise<{ client: Client; pins: Pins }> {
  const client = await api.tenant();
  const { id, latest_revision_id: revision, tracing_project_id: project } = await deployment(client);
  const key = await tagKey(client);
  const value = await tagValue(client, key);
  await did(client, 'PUT', `/v2/deployments/${id}/tag-values`, { tag_value_ids: [value] });
  const deleted = await deployment(client);
  await did(client, 'DELETE', `/v2/deployments/${deleted.id}`);
  const held = await leasedListener(client);
  const reader = await logRequest(api, { tenant_id: client.tenantId, deployment_id: id, listener_id: held });
  const ofObjects = await logRequest(
    api,
    { tenant_id: client.tenantId, deployment_id: id, listener_id: held },
    'objects',
  );
  const ofTasks = { tenant_id: client.tenantId, deployment_id: id, listener_id: held };
  const spareKey = await tagKey(client);
  return {
    client,
    pins: {
      all: {
        'path.deployment_id': id,
        'path.revision_id': revision ?? '',
        'path.integration_id': await integration(client),
        'path.listener_id': await listener(client),
        'path.tag_key_id': key,
        'path.tag_value_id': value,
        // A tenant apart: its quotas and its name are no matter to what else is asked for.
        'path.tenant_id': await tenant(client),
        'path.api_key_id': await apiKey(client),
        'path.tracing_project_id': project,
        'path.request_id': reader,
        'path.person_id': await person(api),
        'path.schedule': SCHEDULE.name,
        'path.task_id': await task(api, ofTasks),
        'path.token_id': await accessToken(api, { tenant_id: client.tenantId }),
      },
      operations: {
        'DELETE /v2/deployments': { 'query.deployment_ids': (await deployment(client)).id },
        'DELETE /v2/deployments/{deployment_id}': { 'path.deployment_id': (await deployment(client)).id },
        'POST /v2/deployments/{deployment_id}/restore': { 'path.deployment_id': deleted.id },
        'DELETE /v2/integrations/{integration_id}': { 'path.integration_id': await integration(client) },
        'DELETE /v2/listeners/{listener_id}': { 'path.listener_id': await listener(client) },
        'DELETE /v2/tag-keys/{tag_key_id}': { 'path.tag_key_id': await tagKey(client) },
        'DELETE /v2/tag-keys/{tag_key_id}/values/{tag_value_id}': {
          'path.tag_key_id': spareKey,
          'path.tag_value_id': await tagValue(client, spareKey),
        },
        'DELETE /v2/tenants/{tenant_id}': { 'path.tenant_id': await tenant(client) },
        'DELETE /v2/api-keys/{api_key_id}': { 'path.api_key_id': await apiKey(client) },
        'DELETE /v2/tracing-projects/{tracing_project_id}': {
          'path.tracing_project_id': await leftProject(client),
        },
        'PUT /v2/listeners/{listener_id}/lease': { 'path.listener_id': await listener(client) },
        // A listener with a lease.
        'GET /v2/listeners/{listener_id}/lease': { 'path.listener_id': held },
        'GET /v2/listeners/{listener_id}/work': { 'path.listener_id': held, 'query.epoch': 1 },
        'POST /v2/listeners/{listener_id}/reports': { 'path.listener_id': held },
        'POST /v2/listeners/{listener_id}/inventory': { 'path.listener_id': held },
        'GET /v2/listeners/{listener_id}/log-requests': { 'path.listener_id': held, 'query.epoch': 1 },
        'POST /v2/listeners/{listener_id}/log-requests/{request_id}': { 'path.listener_id': held },
        'POST /v2/listeners/{listener_id}/object-requests/{request_id}': {
          'path.listener_id': held,
          'path.request_id': ofObjects,
        },
        'POST /v2/listeners/{listener_id}/build-logs': { 'path.listener_id': held },
        'POST /v2/listeners/{listener_id}/volume-removals': { 'path.listener_id': held },
        'GET /v2/listeners/{listener_id}/tasks': { 'path.listener_id': held, 'query.epoch': 1 },
        'POST /v2/listeners/{listener_id}/task-reports': { 'path.listener_id': held },
        'POST /v2/deployments/{deployment_id}/tasks/{task_id}/cancel': {
          'path.task_id': await task(api, ofTasks),
        },
        'POST /v2/deployments/{deployment_id}/schedules/{schedule}/run': {
          'path.deployment_id': await scheduled(api, client),
        },
        'GET /v2/deployments/{deployment_id}/tasks/{task_id}/logs': {
          'path.task_id': await runningTask(api, ofTasks),
        },
      },
    },
  };
}

/** The parameters as tables of a Schemathesis configuration. */
export function asToml({ all, operations }: Pins): string {
  const lines = (values: Pins['all']) =>
    Object.entries(values).map(([name, value]) => `${JSON.stringify(name)} = ${JSON.stringify(value)}`);
  const single = Object.entries(operations).flatMap(([name, values]) => [
    '[[operations]]',
    `include-name = ${JSON.stringify(name)}`,
    '[operations.parameters]',
    ...lines(values),
  ]);
  return [...lines(all), '', ...single, ''].join('\n');
}
