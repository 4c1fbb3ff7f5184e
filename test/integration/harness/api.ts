/** The HTTP API on a database of its own, called in-process; every answer is held against the OpenAPI document. */
import { randomBytes } from 'node:crypto';
import type { FastifyInstance, InjectOptions } from 'fastify';
import type { HostingMode } from '../../../src/domain/deployment/source.ts';
import { resolvePolicy } from '../../../src/domain/policy/policy.ts';
import { buildApp } from '../../../src/hub/api/core/app.ts';
import type { ApiDeps } from '../../../src/hub/api/core/deps.ts';
import { createWorkHints } from '../../../src/hub/api/listeners/work-hints.ts';
import type { SourceStore } from '../../../src/hub/api/sources/source-store.ts';
import { createGitHost } from '../../../src/hub/git-host/git-host.ts';
import { createRegistryAuthority } from '../../../src/hub/registry/authority.ts';
import { generateSigningKey, parseSigningKeys } from '../../../src/hub/registry/signing-key.ts';
import { createApiKey, SCOPES, type Scope } from '../../../src/hub/store/tenancy/api-keys.ts';
import { checkAnswers } from './conformance.ts';
import { newTenant, type StoreFixture, startStore } from './store.ts';

/** A route as it was registered. */
export interface KnownRoute {
  readonly method: string;
  readonly url: string;
  readonly config: { access?: 'public' | { scopes: readonly Scope[]; tenant?: 'any' } };
  readonly schema: { response?: Record<string, unknown>; summary?: string; [part: string]: unknown };
}

/** An answer: parsed JSON, null where there is no body. */
export interface Answer<T = Record<string, unknown>> {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: T;
}

export interface Client {
  readonly tenantId: string;
  readonly key: string;
  /** Calls the API; answers of any status are returned. */
  call<T = Record<string, unknown>>(
    method: NonNullable<InjectOptions['method']>,
    url: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer<T>>;
}

export interface ApiFixture {
  readonly store: StoreFixture;
  readonly app: FastifyInstance;
  readonly routes: readonly KnownRoute[];
  /** A client of a new tenant. */
  tenant(scopes?: readonly Scope[]): Promise<Client>;
  /** Another client of the same tenant. */
  client(tenantId: string | null, scopes: readonly Scope[]): Promise<Client>;
  /** Number of rows of every table that a request can write, to check that nothing was written. */
  rowCounts(): Promise<Record<string, number>>;
  stop(): Promise<void>;
}

export const ALL_SCOPES: readonly Scope[] = SCOPES;

const TABLES = [
  'deployments',
  'revisions',
  'secret_sets',
  'events',
  'tracing_projects',
  'idempotency_keys',
  'tombstones',
  'listeners',
  'integrations',
  'tag_keys',
  'tag_values',
  'deployment_tag_values',
];

/**
 * Settings of a registry of the platform, which asks the API for permissions. The address has no server, so uploads are only
 * read.
 */
export function platformRegistry(): Pick<ApiDeps, 'registry' | 'registryAuthority' | 'sourceStore'> {
  const registry = 'registry.platform.example';
  const keys = parseSigningKeys(generateSigningKey());
  const sourceStore: SourceStore = {
    has: async () => true,
    async store(_owner, _digest, content) {
      for await (const _ of content);
    },
  };
  return { registry, registryAuthority: createRegistryAuthority(registry, keys), sourceStore };
}

const isSentAsIs = (body: unknown): body is string | Buffer =>
  typeof body === 'string' || Buffer.isBuffer(body);

const withUndeclared = (value: object) => ({ ...value, undeclared_field: 'added by the test harness' });

/** Adds a field outside the contract to the result of each handler, and to each object of a list. */
function addUndeclaredFields(app: FastifyInstance): void {
  app.addHook('preSerialization', async (_request, { statusCode }, result) => {
    // The error handler has no result.
    if (statusCode >= 400 || result === null) return result;
    const { resources } = result as { resources?: unknown };
    const items = Array.isArray(resources) ? { resources: resources.map(withUndeclared) } : {};
    return { ...withUndeclared(result as object), ...items };
  });
}

export async function startApi(
  options: {
    hosting?: HostingMode;
    deps?: Partial<ApiDeps>;
    /** The database of another API, so that both are replicas. Default: a new database. */
    store?: StoreFixture;
    /** Sees every answer: method, path as registered, status. */
    onAnswer?: (method: string, path: string | undefined, status: number) => void;
  } = {},
): Promise<ApiFixture> {
  const store = options.store ?? (await startStore());
  const hosting = options.hosting ?? 'self_hosted';
  const app = buildApp({
    database: store.database,
    secretBox: store.box,
    policy: resolvePolicy(hosting),
    hosting,
    logger: store.logger,
    hints: createWorkHints(),
    leaseSeconds: 60,
    version: '0.0.0-test',
    publicUrl: 'https://berth.example.com',
    platformHosts: ['berth.example.com', 'registry.berth.example.com'],
    appDomain: null,
    registry: null,
    gitHost: createGitHost({ allowPrivate: false }),
    ...options.deps,
  });
  const routes: KnownRoute[] = [];
  app.addHook('onRoute', (route) => {
    for (const method of [route.method].flat()) {
      // Looked at later: hooks of plugins may still add to it.
      routes.push({
        method,
        url: route.url,
        get config() {
          return route.config ?? {};
        },
        get schema() {
          return (route.schema ?? {}) as KnownRoute['schema'];
        },
      });
    }
  });
  addUndeclaredFields(app);
  checkAnswers(app);
  const { onAnswer } = options;
  if (onAnswer !== undefined)
    app.addHook('onResponse', async ({ method, routeOptions }, { statusCode }) =>
      onAnswer(method, routeOptions.url, statusCode),
    );
  await app.ready();

  const client = async (tenantId: string | null, scopes: readonly Scope[]): Promise<Client> => {
    const { key } = await store.database.platform.transaction((transaction) =>
      createApiKey(transaction, { tenantId, name: 'test', scopes }),
    );
    return {
      tenantId: tenantId ?? '',
      key,
      async call(method, url, body, headers = {}) {
        const response = await app.inject({
          method,
          url,
          headers: {
            'x-api-key': key,
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
            ...headers,
          },
          ...(body === undefined ? {} : { payload: isSentAsIs(body) ? body : JSON.stringify(body) }),
        });
        const answer = response.payload === '' ? null : JSON.parse(response.payload);
        return {
          status: response.statusCode,
          headers: response.headers as Record<string, string>,
          body: answer,
        };
      },
    };
  };

  return {
    store,
    app,
    routes,
    client,
    async tenant(scopes = ALL_SCOPES) {
      const { tenantId } = await newTenant(store);
      return client(tenantId, scopes);
    },
    async rowCounts() {
      const selects = TABLES.map((table) => `SELECT '${table}' AS name, count(*)::int AS n FROM ${table}`);
      const rows = await store.sql<{ name: string; n: number }>(selects.join(' UNION ALL '));
      return Object.fromEntries(rows.map(({ name, n }) => [name, n]));
    },
    async stop() {
      await app.close();
      if (options.store === undefined) await store.stop();
    },
  };
}

/** Fields of a Deployment answer. */
export interface Deployment {
  id: string;
  name: string;
  source: string;
  status: string;
  generation: number;
  observed_generation: number;
  remote_reconciled: boolean;
  source_config: Record<string, unknown> & { resource_spec: Record<string, unknown> | null };
  source_revision_config: Record<string, unknown>;
  effective_resource_spec: Record<string, unknown>;
  secrets: { name: string; value: string }[];
  latest_revision_id: string | null;
  active_revision_id: string | null;
  tracing_project_id: string;
  image_version: string | null;
  updated_at: string;
  conditions: { type: string; status: string; reason: string; message: string }[];
  [field: string]: unknown;
}

/** One refused field of a 422 or 400. */
export interface Issue {
  loc: (string | number)[];
  msg: string;
  type: string;
}

/** A name that no other test uses. */
export const uniqueName = (prefix = 'app') => `${prefix}-${randomBytes(5).toString('hex')}`;

/** A body of POST with little in it. */
export function createBody(more: Record<string, unknown> = {}) {
  return {
    name: uniqueName(),
    source: 'external_image',
    source_config: {},
    source_revision_config: { image_uri: 'registry.example.com/shop/web:1.0.0' },
    secrets: [],
    ...more,
  };
}

/** Makes a deployment. @throws unless 201 */
export async function create(client: Client, more: Record<string, unknown> = {}): Promise<Deployment> {
  const answer = await client.call<Deployment>('POST', '/v2/deployments', createBody(more));
  if (answer.status !== 201) throw new Error(`failed to create: ${JSON.stringify(answer.body)}`);
  return answer.body;
}
