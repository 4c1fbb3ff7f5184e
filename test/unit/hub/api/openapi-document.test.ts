/** The OpenAPI document of these sources as a whole; test/integration/hub/api/api-openapi covers the responses. */
import { beforeAll, describe, expect, test } from 'vitest';
import { openApiDocument } from '../../../../scripts/openapi-document.ts';
import { UUID_PATTERN } from '../../../../src/domain/core/id.ts';
import { tenantEventsQuery } from '../../../../src/hub/api/events/event-query.ts';
import { withoutUnused } from '../../../../src/hub/api/openapi/openapi-components.ts';
import {
  type JsonSchema,
  type OpenApiDocument,
  operationsOf,
  type ResponseObject,
} from '../../../../src/hub/api/openapi/openapi-types.ts';
import { OPERATION_IDS, operationIdOf } from '../../../../src/hub/api/openapi/operation-ids.ts';

let document: OpenApiDocument;
beforeAll(async () => {
  document = (await openApiDocument()) as OpenApiDocument;
}, 60_000);

const operations = () =>
  operationsOf(document).map(({ method, path, operation }) => ({
    name: `${method.toUpperCase()} ${path}`,
    operation,
  }));

const JSON_TYPE = 'application/json';

/** Schemas directly below a schema, with the way to each. */
function below(schema: JsonSchema): [string, JsonSchema][] {
  const named = Object.entries(schema.properties ?? {});
  const single = (['items', 'additionalProperties', 'propertyNames'] as const).flatMap(
    (key): [string, JsonSchema][] =>
      typeof schema[key] === 'object' ? [[key, schema[key] as JsonSchema]] : [],
  );
  const options = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  return [...named, ...single, ...options.map((option, index): [string, JsonSchema] => [`${index}`, option])];
}

/** A schema and all below it, with the way to each. */
function allOf(schema: JsonSchema, path: string): [string, JsonSchema][] {
  return [[path, schema], ...below(schema).flatMap(([step, member]) => allOf(member, `${path}/${step}`))];
}

/** The responses of all operations, and the components that they refer to. */
const answers = (): [string, ResponseObject][] => [
  ...operations().flatMap(({ name, operation }) =>
    Object.entries(operation.responses).map(([status, response]): [string, ResponseObject] => [
      `${name} ${status}`,
      response,
    ]),
  ),
  ...Object.entries(document.components.responses ?? {}),
];

function schemasOfAnswers(): [string, JsonSchema][] {
  return answers().flatMap(([name, { content }]) => {
    const schema = content?.[JSON_TYPE]?.schema;
    return schema === undefined ? [] : allOf(schema, name);
  });
}

const schemasOfComponents = () =>
  Object.entries(document.components.schemas).flatMap(([name, schema]) => allOf(schema, name));

test('does not require a body without required fields, and its example is an empty object', () => {
  const optional = operations().filter(({ operation }) => operation.requestBody?.required === false);
  for (const { name, operation } of optional) {
    const schema = name.endsWith('/rollback') ? 'RollBackRevisionInput' : 'EmptyInput';
    expect(operation.requestBody?.content[JSON_TYPE], name).toEqual({
      schema: { $ref: `#/components/schemas/${schema}` },
      example: {},
    });
  }
  // A union with null would have no name, and generators would invent one.
  expect(document.components.schemas['EmptyInput']).toMatchObject({ type: 'object', properties: {} });
  expect(optional.map(({ name }) => name)).toEqual([
    'POST /v2/deployments/{deployment_id}/restore',
    'POST /v2/deployments/{deployment_id}/revisions',
    'POST /v2/deployments/{deployment_id}/revisions/{revision_id}/redeploy',
    'POST /v2/deployments/{deployment_id}/revisions/{revision_id}/rollback',
    'POST /v2/deployments/{deployment_id}/schedules/{schedule}/run',
    'POST /v2/deployments/{deployment_id}/tasks/{task_id}/cancel',
    'POST /v2/integrations/{integration_id}/webhook-secret',
    'POST /v2/auth/people/{person_id}/sign-out',
    'POST /v2/deployments/{deployment_id}/push-token',
  ]);
});

test('declares headers as texts without a format, because clients can send only texts in headers', () => {
  const headers = operations().flatMap(({ name, operation }) =>
    (operation.parameters ?? [])
      .filter((parameter) => parameter.in === 'header')
      .map(({ name: header, schema }) => ({ header: `${name} ${header}`, ...schema })),
  );
  expect(headers.map(({ header }) => header)).toContain('GET /v2/deployments X-Tenant-Id');
  expect(headers.filter(({ type, format }) => type !== 'string' || format !== undefined)).toEqual([]);
});

/** Ids that Berth does not assign: those of a cluster, its owner, the tracing backend and a client. */
const NO_UUIDS: ReadonlySet<string> = new Set(['compute_id', 'cluster_id', 'backend_id', 'request_id']);

/** Who acted, and what a cause is about, may be of any kind. */
const OF_ANY_KIND = /^(EventActor|FailureSource)$/;

/** The schemas of all operations but those of the listener protocol. */
function schemasForUsers(): Record<string, JsonSchema> {
  const paths = Object.entries(document.paths).filter(([, methods]) =>
    Object.values(methods).every(({ tags }) => tags?.[0] !== 'listener protocol'),
  );
  return withoutUnused({ ...document, paths: Object.fromEntries(paths) }).components.schemas;
}

function formatOf(field: string): string | null {
  if (/_at$/.test(field)) return 'date-time';
  return /^id$|_id$/.test(field) && !NO_UUIDS.has(field) ? 'uuid' : null;
}

test('states the format uuid for ids of responses, and date-time for times', () => {
  const returned = Object.entries(schemasForUsers()).filter(([name]) => !name.endsWith('Input'));
  const all = returned.flatMap(([name, schema]) => allOf(schema, name));
  const missing = all.flatMap(([path, { properties = {} }]) =>
    Object.entries(properties)
      .filter(([field, schema]) => {
        const format = OF_ANY_KIND.test(path) ? null : formatOf(field);
        return format !== null && !allOf(schema, '').some(([, part]) => part.format === format);
      })
      .map(([field]) => `${path}/${field}`),
  );
  expect(missing).toEqual([]);
});

/** Those of JSON Schema 2020-12 that we use. */
const KEYWORDS: ReadonlySet<string> = new Set(
  `$ref additionalProperties allOf anyOf const default description enum examples exclusiveMaximum exclusiveMinimum
  format items maxItems maxLength maximum minItems minLength minimum oneOf pattern properties propertyNames required
  title type uniqueItems`.split(/\s+/),
);

test('uses only standard keywords in its schemas', () => {
  const bodies = operations().flatMap(({ name, operation }) => {
    const schema = operation.requestBody?.content[JSON_TYPE]?.schema;
    const parameters = (operation.parameters ?? []).map((parameter) => parameter.schema);
    return [...parameters, ...(schema === undefined ? [] : [schema])].flatMap((part) => allOf(part, name));
  });
  const unknown = [...schemasOfComponents(), ...schemasOfAnswers(), ...bodies].flatMap(([path, schema]) =>
    Object.keys(schema)
      .filter((keyword) => !KEYWORDS.has(keyword) && !keyword.startsWith('x-'))
      .map((keyword) => `${path}: ${keyword}`),
  );
  expect(unknown).toEqual([]);
});

describe('operation ids', () => {
  test('gives every route the id of the table, and the table has no other entries', () => {
    const ids = operations().map(({ name, operation }) => [name, operation.operationId]);
    expect(Object.fromEntries(ids)).toEqual(OPERATION_IDS);
  });

  test('are unique, and consist of a verb and a noun', () => {
    const ids = Object.values(OPERATION_IDS);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[a-z]+([A-Z][a-z]+)+$/);
  });

  test('rejects a route that is not in the table', () => {
    expect(() => operationIdOf('GET', '/v2/nothing/:id')).toThrow(
      'failed to document GET /v2/nothing/{id}: it has no operationId',
    );
  });
});

const REFERENCE = /^#\/components\/schemas\/[A-Z][A-Za-z]+$/;

test('the response 412 names every header of a precondition that a request can have', () => {
  const names = operations()
    .filter(({ operation }) => operation.responses['412'] !== undefined)
    .flatMap(({ operation }) => operation.parameters ?? [])
    .filter((parameter) => parameter.in === 'header' && /^if-/i.test(parameter.name))
    .map(({ name }) => name.toLowerCase());
  expect(new Set(names)).toEqual(new Set(['if-match', 'if-none-match']));
  const { description } = document.components.responses?.['PreconditionFailed'] ?? {};
  for (const name of names) expect(description?.toLowerCase()).toContain(name);
});

/** The parts of a path. A variable is null if it accepts any text, and otherwise the pattern of its format. */
function partsOf(path: string): (string | null | typeof UUID_PATTERN)[] {
  const parameters = Object.values(document.paths[path] ?? {}).flatMap(
    (operation) => operation.parameters ?? [],
  );
  return path.split('/').map((part) => {
    const [, name] = /^\{(.+)\}$/.exec(part) ?? [];
    if (name === undefined) return part;
    const found = parameters.find((parameter) => parameter.in === 'path' && parameter.name === name);
    return found?.schema.format === 'uuid' ? UUID_PATTERN : null;
  });
}

function matchesBoth(a: ReturnType<typeof partsOf>[number], b: typeof a): boolean {
  if (typeof a === 'string' && typeof b === 'string') return a === b;
  const [text, variable] = typeof a === 'string' ? [a, b] : [b, a];
  return typeof text !== 'string' || !(variable instanceof RegExp) || variable.test(text);
}

test('names a variable of a path alike in all paths that begin alike', () => {
  const names = new Map<string, Set<string>>();
  for (const path of Object.keys(document.paths)) {
    const parts = path.split('/');
    for (const [index, part] of parts.entries()) {
      if (!part.startsWith('{')) continue;
      const start = parts
        .slice(0, index)
        .join('/')
        .replace(/\{\w+\}/g, '{}');
      names.set(start, (names.get(start) ?? new Set()).add(part));
    }
  }
  expect([...(names.get('/v2/listeners') ?? [])]).toEqual(['{listener_id}']);
  expect([...names].filter(([, variables]) => variables.size > 1)).toEqual([]);
});

test('no request matches two paths', () => {
  const paths = Object.keys(document.paths).map((path) => ({ path, parts: partsOf(path) }));
  const both = paths.flatMap(({ path, parts }, index) =>
    paths
      .slice(index + 1)
      .filter((other) => other.parts.length === parts.length)
      .filter((other) => parts.every((part, at) => matchesBoth(part, other.parts[at] ?? null)))
      .map((other) => `${path} and ${other.path}`),
  );
  expect(both).toEqual([]);
});

test('shows events whose reason and cursor the event lists accept', () => {
  const { operation } = operations().find(({ name }) => name === 'GET /v2/events') ?? {};
  const examples = Object.values(operation?.responses['200']?.content ?? {}).map(({ example }) => example);
  const [page, line] = examples as [
    { resources: { reason: string }[]; cursor: string },
    { reason: string; cursor: string },
  ];
  const queries = [
    { reason: page.resources[0]?.reason, cursor: page.cursor },
    { reason: line.reason, cursor: line.cursor, follow: 'true' },
  ];
  for (const query of queries) expect(tenantEventsQuery.safeParse(query).error).toBeUndefined();
});

describe('named schemas', () => {
  test('are sorted by name, so that the document does not depend on the order of loaded modules', () => {
    const names = Object.keys(document.components.schemas);
    expect(names).toEqual(names.toSorted());
  });

  test('are what every body and every response refers to', () => {
    const bodies = operations().map(({ name, operation }): [string, ResponseObject] => [
      name,
      operation.requestBody ?? {},
    ]);
    const all = [...bodies, ...answers()].flatMap(([name, { content = {} }]) =>
      Object.entries(content).map(([type, { schema }]) => ({ name: `${name} ${type}`, schema })),
    );
    expect(all.map(({ name }) => name)).toContain(`Refused ${JSON_TYPE}`);
    const inline = all.filter(({ schema }) => !REFERENCE.test(schema?.$ref ?? ''));
    expect(inline.map(({ name }) => name)).toEqual([]);
  });

  test('exist for every resource, and for a page of each resource that has a list', () => {
    const resources = `Deployment Revision Event Listener Integration Repository TagKey TagValue Tenant ApiKey
    TracingProject`.split(/\s+/);
    const pages = resources.map((name) => `${name}Page`);
    const single = ['Explanation', 'Usage', 'PushToken', 'Condition'];
    expect(Object.keys(document.components.schemas)).toEqual(
      expect.arrayContaining([...resources, ...pages, ...single]),
    );
    for (const name of resources) {
      const page = document.components.schemas[`${name}Page`];
      expect(page?.properties?.['resources']?.items, name).toEqual({ $ref: `#/components/schemas/${name}` });
      expect(page?.required, name).toEqual(expect.arrayContaining(['resources', 'offset']));
    }
  });

  test('exist for enumerations and objects that several schemas have, with one name for requests and responses', () => {
    const { schemas } = document.components;
    const enumerations = ['DeploymentStatus', 'DeploymentSource', 'DeploymentType', 'RevisionStatus'];
    for (const name of [...enumerations, 'ApiKeyScope', 'Component'])
      expect(schemas[name], name).toMatchObject({ type: 'string', enum: expect.any(Array) });
    expect(Object.keys(schemas)).toEqual(
      expect.arrayContaining(['RevisionRefInput', 'Resources', 'ResourceAmounts', 'ComponentSpec']),
    );
    const values = (name: string) => JSON.stringify(schemas[name]?.enum);
    const named = new Map([...enumerations, 'ApiKeyScope', 'Component'].map((name) => [values(name), name]));
    const parameters = operations().flatMap(({ name, operation }) =>
      (operation.parameters ?? []).flatMap(({ name: parameter, schema }) =>
        allOf(schema, `${name} ${parameter}`),
      ),
    );
    const inline = [...schemasOfComponents(), ...parameters].filter(
      ([path, schema]) => path.includes('/') && named.has(JSON.stringify(schema.enum)),
    );
    expect(inline.map(([path]) => path)).toEqual([]);
  });

  test('end in Input exactly if requests use them, except for enumerations', () => {
    const named = (parts: readonly unknown[]) =>
      new Set(
        (JSON.stringify(parts).match(/(?<=#\/components\/schemas\/)\w+/g) ?? []).filter(
          (name) => document.components.schemas[name]?.enum === undefined,
        ),
      );
    const bodies = named(operations().map(({ operation }) => operation.requestBody));
    const answered = named(answers());
    expect([...bodies].filter((name) => !name.endsWith('Input'))).toEqual([]);
    expect([...answered].filter((name) => name.endsWith('Input'))).toEqual([]);
  });

  test('are used', () => {
    const text = JSON.stringify(document);
    const unused = Object.keys(document.components.schemas).filter(
      (name) => !text.includes(`"#/components/schemas/${name}"`),
    );
    expect(unused).toEqual([]);
  });
});

test('describes the address of its server', () => {
  expect((document as unknown as { servers: object[] }).servers).toEqual([
    { url: '/', description: 'Address of this API.' },
  ]);
});

test('states its license', () => {
  expect(document.info.license).toEqual({ name: 'Apache License 2.0', identifier: 'Apache-2.0' });
});
