/** Every write leaves an event with its actor, made from the app's own list of routes, so that none is forgotten. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  ALL_SCOPES,
  type ApiFixture,
  type Client,
  type KnownRoute,
  platformRegistry,
  startApi,
  uniqueName,
} from '../../harness/api.ts';
import { guardedRoutes, type Ids, makeIds, nameOf, requestOf } from '../../harness/requests.ts';

let api: ApiFixture;
beforeAll(async () => {
  api = await startApi({ deps: { deletionGraceSeconds: 3600, ...platformRegistry() } });
});
afterAll(() => api.stop());

interface Noted {
  reason: string;
  actor_kind: string;
  actor_id: string;
}

/** Bodies that change something, where the smallest one does not. */
const CHANGES: Readonly<Record<string, () => unknown>> = {
  'PATCH /v2/tenants/:tenant_id': () => ({ name: uniqueName() }),
  'PATCH /v2/listeners/:listener_id': () => ({ compute_id: uniqueName() }),
  'PATCH /v2/integrations/:integration_id': () => ({ name: uniqueName() }),
  'PATCH /v2/tag-keys/:tag_key_id': () => ({ key: uniqueName() }),
  'PATCH /v2/tag-keys/:tag_key_id/values/:tag_value_id': () => ({ value: uniqueName() }),
};

/** Tasks need an active revision. */
const activate = ({ deployment_id: id, revision_id: revision }: Ids) =>
  api.store.sql('UPDATE deployments SET active_revision_id = $2 WHERE id = $1', [id, revision]);

/** What must have happened before. */
const BEFORE: Readonly<Record<string, (client: Client, ids: Ids) => Promise<unknown>>> = {
  'POST /v2/deployments/:deployment_id/restore': (client, ids) =>
    client.call('DELETE', `/v2/deployments/${ids['deployment_id']}`),
  'DELETE /v2/tracing-projects/:tracing_project_id': (client, ids) =>
    client
      .call('DELETE', `/v2/deployments/${ids['deployment_id']}`)
      .then(() => api.store.sql('DELETE FROM deployments WHERE id = $1', [ids['deployment_id']])),
  'POST /v2/deployments/:deployment_id/tasks': (_, ids) => activate(ids),
  'POST /v2/deployments/:deployment_id/schedules/:schedule/run': (_, ids) => activate(ids),
  // If it does not exist, nothing changes.
  'DELETE /v2/integrations/:integration_id/webhook-secret': (client, ids) =>
    client.call('POST', `/v2/integrations/${ids['integration_id']}/webhook-secret`),
};

/**
 * A tenant cannot be deleted with a key of its own, and an access token revokes only itself (access-tokens.test.ts). The listener
 * protocol's writes are events of deployments.
 */
const ELSEWHERE: ReadonlySet<string> = new Set(['DELETE /v2/tenants/:tenant_id', 'DELETE /v2/auth/token']);
const isElsewhere = (route: KnownRoute) =>
  ELSEWHERE.has(nameOf(route)) || route.url.startsWith('/v2/listeners/:listener_id/');

test('every route that writes records an event with the API key as its actor', async () => {
  const silent: string[] = [];
  const routes = guardedRoutes(api).filter((route) => route.method !== 'GET' && !isElsewhere(route));
  expect(routes.length).toBeGreaterThan(15);
  for (const route of routes) {
    const maker = await api.tenant();
    const ids = await makeIds(api, maker);
    await BEFORE[nameOf(route)]?.(maker, ids);
    // A key that has done nothing before.
    const client = await api.client(maker.tenantId, ALL_SCOPES);
    const { url, payload, headers } = requestOf(route, ids);
    const body = CHANGES[nameOf(route)]?.() ?? payload;
    const answer = await client.call(route.method as 'POST', url, body, { ...headers });
    const noted = await api.store.sql<Noted>(
      `SELECT reason, actor_kind, actor_id FROM events
       WHERE actor_id = (SELECT id FROM api_keys WHERE hash = encode(sha256($1::bytea), 'hex'))`,
      [client.key],
    );
    if (answer.status < 300 && noted.length > 0) expect(noted[0]?.actor_kind).toBe('api_key');
    else
      silent.push(
        `${nameOf(route)}: ${answer.status} ${JSON.stringify(answer.body)}, ${noted.length} events`,
      );
  }
  expect(silent).toEqual([]);
});
