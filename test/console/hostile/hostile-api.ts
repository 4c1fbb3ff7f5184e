/** A stand-in of the API at the edge of the browser. Its answers are hostile, and have the schemas of the OpenAPI document. */
import { readFileSync } from 'node:fs';
import type { Page, Route } from 'playwright-core';
import { SCOPES, TENANT_SCOPES } from '../../../src/domain/core/scopes.ts';
import { createHostile, type Hostile, type Schema, type Schemas } from './hostile-values.ts';

interface Answer {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}
interface Operation {
  readonly responses: Readonly<Record<string, Answer>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Schemas };
}

const document = JSON.parse(
  readFileSync(new URL('../../../manifests/openapi.json', import.meta.url), 'utf8'),
) as Document;

/** Paths as expressions. Those with fewer parameters come first, because they are more exact. */
const PATHS = Object.keys(document.paths)
  .toSorted((a, b) => a.split('{').length - b.split('{').length)
  .map((path) => ({ path, matches: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`) }));

const LINES = 'application/x-ndjson';
const JSON_TYPE = 'application/json';

/** The successful answer of an operation. */
function operationOf(method: string, pathname: string) {
  const path = PATHS.find(({ matches }) => matches.test(pathname))?.path ?? '';
  const responses = document.paths[path]?.[method.toLowerCase()]?.responses ?? {};
  const [status, answer] = Object.entries(responses).find(([code]) => code.startsWith('2')) ?? [];
  const { [JSON_TYPE]: json, [LINES]: lines } = answer?.content ?? {};
  return {
    path: status === undefined ? '' : path,
    status: Number(status),
    json: json?.schema,
    lines: lines?.schema,
  };
}

/** How the stand-in answers. */
export type Mode = 'content' | 'errors' | 'signed-out';

const SESSION = '/v2/auth/session';
const WATCH = '/v2/watch';

/** What the pages need to show everything: a session with all rights in the tenant. */
function sessionOf(hostile: Hostile, schema: Schema, tenantId: string): object {
  const scopes = [...TENANT_SCOPES];
  return {
    ...(hostile.answerOf(schema, 0) as object),
    kind: 'person',
    tenants: [{ id: tenantId, name: hostile.text(true), roles: ['admin'], scopes }],
    platform_scopes: [...SCOPES],
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
  };
}

const fulfil = (route: Route, status: number, body: unknown) =>
  route.fulfill({ status, contentType: JSON_TYPE, body: JSON.stringify(body) });

export interface HostileApi {
  mode: Mode;
  /** Requests that no operation of the document describes. */
  readonly unknown: string[];
}

/** Answers all requests of the page to the API. Files of the console come from the real server. */
export async function standInForApi(page: Page, tenantId: string): Promise<HostileApi> {
  const hostile = createHostile(document.components.schemas);
  const api: HostileApi = { mode: 'content', unknown: [] };
  const streamed = new Set<string>();
  const requests = new Map<string, number>();

  function turnOf(pathname: string): number {
    const turn = requests.get(pathname) ?? 0;
    requests.set(pathname, turn + 1);
    return turn;
  }

  /** One stream of lines for each path. Later ones stay open without a line, as if nothing happened. */
  async function stream(route: Route, path: string, schema: Schema): Promise<void> {
    if (path === WATCH || streamed.has(path)) return;
    streamed.add(path);
    const lines = hostile.formsOf(schema).map((line) => `${JSON.stringify(line)}\n`);
    await route.fulfill({ status: 200, contentType: LINES, body: lines.join('') });
  }

  async function answer(route: Route): Promise<void> {
    const request = route.request();
    const { pathname } = new URL(request.url());
    const { path, status, json, lines } = operationOf(request.method(), pathname);
    if (path === '') api.unknown.push(`${request.method()} ${pathname}`);
    if (path === SESSION && api.mode === 'signed-out') return fulfil(route, 401, { detail: 'No session.' });
    const fails = path === '' || (api.mode === 'errors' && !path.startsWith('/v2/auth/'));
    // A status after which the console does not try again.
    if (fails && path !== WATCH) return fulfil(route, 404, { detail: hostile.text(true) });
    if (lines !== undefined && (json === undefined || request.headers()['accept']?.includes(LINES)))
      return stream(route, path, lines);
    if (json === undefined) return route.fulfill({ status });
    return fulfil(
      route,
      status,
      path === SESSION ? sessionOf(hostile, json, tenantId) : hostile.answerOf(json, turnOf(pathname)),
    );
  }
  await page.route(/^[^?]*\/v2\//, answer);
  return api;
}
