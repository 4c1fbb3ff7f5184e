/** Requests made from the list of routes: ids for path parameters, and a body that each route takes. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { uuidv7 } from '../../../src/domain/core/id.ts';
import { gzipped } from '../../archives.ts';
import { type ApiFixture, type Client, create, createBody, type KnownRoute, uniqueName } from './api.ts';

export const UNKNOWN_ID = '01890000-0000-7000-8000-00000000dead';

/** A route in one word pair, such as `GET /v2/deployments`. */
export const nameOf = ({ method, url }: KnownRoute) => `${method} ${url}`;

export const parametersOf = ({ url }: KnownRoute) =>
  [...url.matchAll(/:(\w+)/g)].map(([, name = '']) => name);

const SCHEDULE = 'nightly';

/** Parameters that are no ids: a name belongs to no tenant, because the same name of another one is free. */
const NO_IDS: Readonly<Record<string, string | undefined>> = {
  name: undefined,
  kind: 'Pod',
  schedule: SCHEDULE,
};

/** The parameters of a path that are ids. */
export const idsOf = (route: KnownRoute) => parametersOf(route).filter((name) => !(name in NO_IDS));

/** Every route that asks for a key, by method. HEAD follows GET. */
export const guardedRoutes = (api: ApiFixture) =>
  api.routes.filter(({ config, method }) => config.access !== 'public' && method !== 'HEAD');

/** Ids of things that belong to one tenant, by the name of the path parameter. */
export type Ids = Record<string, string>;

async function made(client: Client, url: string, body: unknown): Promise<string> {
  const answer = await client.call<{ id: string }>('POST', url, body);
  if (answer.status !== 201) throw new Error(`failed to POST ${url}: ${JSON.stringify(answer.body)}`);
  return answer.body.id;
}

/** Where a thing is made whose id a path parameter takes; a deployment and what comes with it are made anyway. */
const MAKERS: Readonly<Record<string, (client: Client, ids: Ids) => Promise<string>>> = {
  listener_id: (client) => made(client, '/v2/listeners', { compute_id: uniqueName() }),
  tag_key_id: (client) => made(client, '/v2/tag-keys', { key: uniqueName() }),
  tag_value_id: (client, ids) => made(client, `/v2/tag-keys/${ids['tag_key_id']}/values`, { value: 'x' }),
  api_key_id: (client) => made(client, '/v2/api-keys', { name: 'x', scopes: ['deployments:read'] }),
  integration_id: (client) =>
    made(client, '/v2/integrations', {
      name: uniqueName(),
      provider: 'gitlab',
      host_url: 'https://git.invalid',
      token: 'x',
    }),
};

const READS = {
  logs: { limit: 1, follow: false },
  objects: { read: 'map' },
} as const;

/** The stored request of a reader, which the tenant's listener serves. It expires after an hour. */
export async function logRequest(
  api: ApiFixture,
  ids: Ids,
  kind: keyof typeof READS = 'logs',
): Promise<string> {
  const id = uuidv7();
  await api.store.sql(
    `INSERT INTO log_requests (id, tenant_id, deployment_id, listener_id, kind, query, taken, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, true, now() + interval '1 hour')`,
    [id, ids['tenant_id'], ids['deployment_id'], ids['listener_id'], kind, JSON.stringify(READS[kind])],
  );
  return id;
}

/** A person who signed in once, and belongs to no tenant. */
export async function person({ store }: ApiFixture): Promise<string> {
  const id = uuidv7();
  await store.sql(
    `INSERT INTO people (id, issuer, subject, name, groups) VALUES ($1, 'https://login.example.com', $2, 'Ada', '{}')`,
    [id, uniqueName()],
  );
  return id;
}

/** An access token of a workload of the tenant. Its value is not known. */
export async function accessToken(api: ApiFixture, ids: Ids): Promise<string> {
  const id = uuidv7();
  await api.store.sql(
    `INSERT INTO access_tokens (id, tenant_id, kind, name, rule, roles, prefix, hash, expires_at)
     VALUES ($1, $2, 'workload', 'ci', 'ci/main', '{viewer}', 'berth_at_x', $3, now() + interval '1 hour')`,
    [id, ids['tenant_id'], id],
  );
  return id;
}

/** A task of the deployment, which no listener has got. */
export async function task({ store }: ApiFixture, ids: Ids): Promise<string> {
  const id = uuidv7();
  await store.sql(
    `INSERT INTO tasks (id, tenant_id, deployment_id, listener_id, name, namespace, app_name, origin, component, command,
       timeout_seconds, actor_kind)
     VALUES ($1, $2, $3, $4, 'task', 'apps', 'app', 'api', 'api', '["migrate"]', 60, 'api_key')`,
    [id, ids['tenant_id'], ids['deployment_id'], ids['listener_id']],
  );
  return id;
}

/**
 * Things of a tenant, one for each path parameter of any route.
 * @throws Error that names a parameter for which there is no generator
 */
export async function makeIds(api: ApiFixture, client: Client): Promise<Ids> {
  const schedules = [{ name: SCHEDULE, schedule: '@daily', command: ['migrate'] }];
  const deployment = await create(client, {
    source_config: { schedules },
    secrets: [{ name: 'A', value: 'x' }],
  });
  const internal = await create(client, { source: 'internal_image', source_revision_config: {} });
  const ids: Ids = {
    tenant_id: client.tenantId,
    name: uniqueName(),
    external_image: deployment.id,
    internal_image: internal.id,
    deployment_id: deployment.id,
    revision_id: deployment.latest_revision_id ?? '',
    tracing_project_id: deployment.tracing_project_id,
  };
  const asked = new Set(guardedRoutes(api).flatMap(parametersOf));
  for (const [name, make] of Object.entries(MAKERS)) {
    if (asked.has(name)) ids[name] = await make(client, ids);
  }
  if (asked.has('token_id')) ids['token_id'] = await accessToken(api, ids);
  if (asked.has('task_id')) ids['task_id'] = await task(api, ids);
  if (asked.has('person_id')) ids['person_id'] = await person(api);
  if (asked.has('request_id')) ids['request_id'] = await logRequest(api, ids);
  // The listener protocol calls it so.
  ids['id'] = ids['listener_id'] ?? '';
  const missing = [...asked].filter((name) => ids[name] === undefined && NO_IDS[name] === undefined);
  if (missing.length > 0) throw new Error(`failed to make ids: add to MAKERS ${missing.join(', ')}`);
  return ids;
}

const ARCHIVE = await gzipped([{ name: 'package.json', content: '{"main": "a.js"}' }]);
const ARCHIVE_HEADERS = {
  'content-type': 'application/gzip',
  'content-digest': `sha-256=:${createHash('sha256').update(ARCHIVE).digest('base64')}:`,
};

interface OwnRequest {
  readonly body?: unknown;
  readonly query?: string;
}

/** Requests that cannot be guessed from the route's schemas. */
const REQUESTS: Readonly<Record<string, (ids: Ids) => OwnRequest>> = {
  'POST /v2/deployments': () => ({ body: createBody() }),
  'PUT /v2/deployments/by-name/:name': () => {
    const { name: _, ...body } = createBody();
    return { body };
  },
  'PATCH /v2/deployments/:deployment_id': () => ({ body: { secrets: [] } }),
  'PATCH /v2/deployments/:deployment_id/secrets': () => ({ body: { unset: ['A'] } }),
  'DELETE /v2/deployments': (ids) => ({ query: `?deployment_ids=${ids['deployment_id']}` }),
  'PUT /v2/deployments/:deployment_id/tag-values': (ids) => ({
    body: { tag_value_ids: [ids['tag_value_id']].filter((id) => id !== undefined) },
  }),
  'POST /v2/deployments/:deployment_id/tasks': () => ({ body: { command: ['migrate'] } }),
  'GET /v2/listeners/:listener_id/tasks': () => ({ query: '?epoch=1' }),
  'GET /v2/listeners/:listener_id/work': () => ({ query: '?epoch=1' }),
  'GET /v2/listeners/:listener_id/log-requests': () => ({ query: '?epoch=1' }),
  'GET /v2/watch': () => ({ query: '?timeout_seconds=1' }),
  'POST /v2/integrations': () => ({
    body: { name: uniqueName(), provider: 'gitlab', host_url: 'https://git.invalid', token: 'x' },
  }),
  'POST /v2/webhooks/:integration_id': () => ({ body: {} }),
};

interface Shape {
  type?: string | string[];
  const?: unknown;
  default?: unknown;
  enum?: unknown[];
  anyOf?: Shape[];
  oneOf?: Shape[];
  format?: string;
  minimum?: number;
  minItems?: number;
  items?: Shape;
  properties?: Record<string, Shape>;
  required?: string[];
}

/** A small value of a JSON schema: required members only, null where that is taken. */
function smallValue(shape: Shape): unknown {
  if (shape.const !== undefined) return shape.const;
  if (shape.default !== undefined) return shape.default;
  if (shape.enum !== undefined) return shape.enum[0];
  const options = shape.anyOf ?? shape.oneOf;
  if (options !== undefined)
    return options.some(({ type }) => type === 'null') ? null : smallValue(options[0] ?? {});
  const type = [shape.type].flat()[0];
  if (type === 'object') {
    const required = (shape.required ?? []).map((name) => [name, smallValue(shape.properties?.[name] ?? {})]);
    return Object.fromEntries(required);
  }
  if (type === 'array')
    return Array.from({ length: shape.minItems ?? 0 }, () => smallValue(shape.items ?? {}));
  if (type === 'integer' || type === 'number') return Math.max(1, shape.minimum ?? 1);
  if (type === 'boolean') return false;
  return shape.format === 'uuid' ? UNKNOWN_ID : uniqueName();
}

/** Routes that are for deployments of another source than the one that is made for all. */
const FOR_INTERNAL_IMAGE: ReadonlySet<string> = new Set([
  '/v2/deployments/:deployment_id/push-token',
  '/v2/deployments/:deployment_id/sources',
]);

/** Without ids, named schemas are inlined instead of referenced. */
const WITHOUT_IDS = { io: 'input', unrepresentable: 'any', metadata: z.registry<object>() } as const;

export interface KnownRequest {
  readonly url: string;
  /** undefined: none, or the body is not JSON. */
  readonly body: unknown;
  readonly payload: string | Buffer | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** The URL with these ids (an unknown one where none is given) and the body of a request that the route takes. */
export function requestOf(route: KnownRoute, given: Ids): KnownRequest {
  const { deployment_id: named, external_image: made, internal_image: other } = given;
  const isOther = FOR_INTERNAL_IMAGE.has(route.url) && named === made && other !== undefined;
  const ids: Ids = isOther ? { ...given, deployment_id: other } : given;
  const path = route.url.replace(
    /:(\w+)/g,
    (_whole, name: string) => ids[name] ?? NO_IDS[name] ?? UNKNOWN_ID,
  );
  const own = REQUESTS[nameOf(route)]?.(ids) ?? {};
  const url = `${path}${own.query ?? ''}`;
  if (nameOf(route) === 'POST /v2/deployments/:deployment_id/sources')
    return { url, body: undefined, payload: ARCHIVE, headers: ARCHIVE_HEADERS };
  const schema = route.schema['body'] as z.ZodType | undefined;
  const guessed = schema === undefined ? undefined : smallValue(z.toJSONSchema(schema, WITHOUT_IDS) as Shape);
  const body = own.body ?? guessed;
  if (body === undefined) return { url, body, payload: undefined, headers: {} };
  return { url, body, payload: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
}
