/** The OpenAPI document of these sources as a whole; test/integration/hub/api/api-openapi covers the responses. */
import { beforeAll, expect, test } from 'vitest';
import { openApiDocument } from '../../../../scripts/openapi-document.ts';
import {
  type JsonSchema,
  type OpenApiDocument,
  operationsOf,
} from '../../../../src/hub/api/openapi/openapi-types.ts';

let document: OpenApiDocument;
beforeAll(async () => {
  document = (await openApiDocument()) as OpenApiDocument;
});

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

function schemasOfAnswers(): [string, JsonSchema][] {
  return operations().flatMap(({ name, operation }) =>
    Object.values(operation.responses).flatMap(({ content }) => {
      const schema = content?.[JSON_TYPE]?.schema;
      return schema === undefined ? [] : allOf(schema, name);
    }),
  );
}

const schemasOfComponents = () =>
  Object.entries(document.components.schemas).flatMap(([name, schema]) => allOf(schema, name));

test('does not require a body without required fields, and its example is an empty object', () => {
  const optional = operations().filter(({ operation }) => operation.requestBody?.required === false);
  for (const { name, operation } of optional)
    expect(operation.requestBody?.content[JSON_TYPE]?.example, name).toEqual({});
  expect(optional.map(({ name }) => name)).toEqual([
    'POST /v2/deployments/{deployment_id}/restore',
    'POST /v2/deployments/{deployment_id}/revisions',
    'POST /v2/deployments/{deployment_id}/revisions/{revision_id}/redeploy',
    'POST /v2/deployments/{deployment_id}/revisions/{revision_id}/rollback',
    'POST /v2/integrations/{integration_id}/webhook-secret',
    'POST /v2/deployments/{deployment_id}/push-token',
  ]);
});

/** Ids that Berth does not assign: those of a cluster, its owner, the tracing backend and a client. */
const NO_UUIDS: ReadonlySet<string> = new Set(['compute_id', 'cluster_id', 'backend_id', 'request_id']);

/** Who acted, and what a cause is about, may be of any kind. */
const OF_ANY_KIND = /\/(actor|object\/\d)$/;

function formatOf(field: string): string | null {
  if (/_at$/.test(field)) return 'date-time';
  return /^id$|_id$/.test(field) && !NO_UUIDS.has(field) ? 'uuid' : null;
}

test('states the format uuid for ids of responses, and date-time for times', () => {
  const protocol = operations().filter(({ operation }) => operation.tags?.[0] === 'listener protocol');
  const answers = [
    ...schemasOfAnswers().filter(([path]) => !protocol.some(({ name }) => path.startsWith(name))),
    ...schemasOfComponents().filter(([path]) => path.startsWith('Deployment')),
  ];
  const missing = answers.flatMap(([path, { properties = {} }]) =>
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

test('states its license', () => {
  expect(document.info.license).toEqual({ name: 'Apache License 2.0', identifier: 'Apache-2.0' });
});
