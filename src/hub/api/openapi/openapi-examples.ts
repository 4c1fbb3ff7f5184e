import type { HostingMode } from '../../../domain/deployment/source.ts';
import { NESTED_FIELDS } from '../../../domain/resource-spec/resource-spec-input.ts';
import {
  type JsonSchema,
  type MediaType,
  type OpenApiDocument,
  operationsOf,
  type Parameter,
  type RequestBody,
  type ResponseObject,
  SCHEMA_REFERENCE,
} from './openapi-types.ts';

/**
 * Creates examples of all requests and responses from the schemas. The `examples` of a schema (zod: `.meta({ examples
 * })`) take precedence, then known values by field name, then the smallest valid value.
 */

const ID = '0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a77';
const TIME = '2026-01-15T09:30:00.000Z';

/** Typical values by field name. api-openapi.test.ts fails when a value does not match a schema. */
const FIELDS: Readonly<Record<string, unknown>> = {
  name: 'shop',
  key: 'team',
  value: 'payments',
  image_uri: 'registry.example.com/shop/web:1.4.0',
  image_version: '1.4.0',
  exporterVariable: 'OTEL_EXPORTER_OTLP_ENDPOINT',
  domain: 'shop.example.org',
  host: 'shop.example.org',
  image: 'registry.example.com/shop/web:1.4.0',
  source: 'external_image',
  latest_revision_id: ID,
  active_revision_id: ID,
  deployed_at: TIME,
  last_observed_at: TIME,
  status: 'READY',
  commit: '7fd1a60b01f91b314f59955a4e4d4e80d8edf11d',
  memory_mb: 1024,
  memory_limit_mb: 2048,
  cpu: 1,
  cpu_limit: 2,
  max_scale: 1,
  min_scale: 1,
  offset: 1,
  generation: 1,
  observed_generation: 1,
  remote_reconciled: true,
  version: '0.1.0',
  cluster_version: 'v1.36.0',
};

/** Lists whose items would make an example too long. */
const LONG_LISTS = new Set([...NESTED_FIELDS, 'imagePullSecrets', 'volumeMounts', 'initContainers']);

/** Complete bodies of the most used requests. Fields that a hosting mode rejects are omitted. */
const bodies = (hosting: HostingMode): Readonly<Record<string, unknown>> => ({
  ApplyDeploymentInput: {
    source: hosting === 'cloud' ? 'internal_image' : 'external_image',
    source_config: { resource_spec: { min_scale: 1, max_scale: 3, cpu: 0.5, memory_mb: 512 } },
    source_revision_config: { image_uri: 'registry.example.com/shop/web:1.4.0' },
  },
  UpdateDeploymentSecretsInput: {
    set: [{ name: 'PAYMENT_TOKEN', value: 'example' }],
    unset: ['OLD_PAYMENT_TOKEN'],
  },
  CreateDeploymentInput: {
    name: 'shop',
    source: hosting === 'cloud' ? 'internal_image' : 'external_image',
    source_config: { resource_spec: { min_scale: 1, max_scale: 3, cpu: 0.5, memory_mb: 512 } },
    source_revision_config: { image_uri: 'registry.example.com/shop/web:1.4.0' },
    secrets: [{ name: 'PAYMENT_TOKEN', value: 'example' }],
  },
  UpdateDeploymentInput: {
    source_config: { resource_spec: { max_scale: 5 } },
    source_revision_config: { image_uri: 'registry.example.com/shop/web:1.5.0' },
  },
});

/** Complete bodies of single operations. The API accepts each of these bodies, one after the other (test/fuzz). */
const REQUESTS: Readonly<Record<string, unknown>> = {
  'POST /v2/integrations': {
    name: 'git.example.com',
    provider: 'gitlab',
    host_url: 'https://git.example.com',
    token: 'glpat-write-only',
  },
  'PATCH /v2/integrations/{integration_id}': { token: 'glpat-next' },
  'POST /v2/listeners': { compute_id: 'eu-1', compute_config: { k8s_namespaces: ['shop'] } },
  'PATCH /v2/listeners/{listener_id}': { compute_config: { k8s_namespaces: ['shop', 'shop-test'] } },
  'PATCH /v2/tag-keys/{tag_key_id}': { key: 'department' },
  'PATCH /v2/tag-keys/{tag_key_id}/values/{tag_value_id}': { value: 'billing' },
  'PATCH /v2/tenants/{tenant_id}': { name: 'shop-eu' },
  'POST /v2/api-keys': { name: 'delivery', scopes: ['deployments:read', 'deployments:write'] },
  'PUT /v2/listeners/{listener_id}/lease': {
    holder: 'berth-listener-6f5c9d7b8-x2k4p',
    version: '0.1.0',
    cluster_version: 'v1.36.0',
    rendering: null,
    epoch: null,
  },
};

const JSON_TYPE = 'application/json';

interface Making {
  readonly schemas: Readonly<Record<string, JsonSchema>>;
  readonly bodies: Readonly<Record<string, unknown>>;
  /** A response shows all fields. A request shows the required fields. */
  readonly whole: boolean;
}

function allows(schema: JsonSchema, value: unknown): boolean {
  if (schema.const !== undefined) return schema.const === value;
  if (schema.enum !== undefined) return schema.enum.includes(value);
  if (schema.anyOf !== undefined) return schema.anyOf.some((option) => allows(option, value));
  const kinds = [schema.type ?? []].flat();
  if (kinds.length === 0) return false;
  if (typeof value === 'number' && schema.minimum !== undefined && value < schema.minimum) return false;
  const kind = typeof value === 'number' && Number.isInteger(value) ? 'integer' : typeof value;
  return kinds.includes(kind) || (kind === 'integer' && kinds.includes('number'));
}

function text({ format }: JsonSchema, field: string): string {
  if (format === 'date-time' || field.endsWith('_at') || field === 'at') return TIME;
  if (format === 'uuid' || field === 'id' || field.endsWith('_id')) return ID;
  if (format === 'uri') return 'https://shop.example.com';
  return 'text';
}

function object(schema: JsonSchema, making: Making): Record<string, unknown> {
  const shown = Object.entries(schema.properties ?? {}).filter(
    ([name]) => making.whole || schema.required?.includes(name),
  );
  return Object.fromEntries(shown.map(([name, member]) => [name, sample(member, name, making)]));
}

function list(schema: JsonSchema, field: string, making: Making): unknown[] {
  if (schema.items === undefined || LONG_LISTS.has(field) || (!making.whole && (schema.minItems ?? 0) === 0))
    return [];
  return [sample(schema.items, field.replace(/s$/, ''), making)];
}

function byType(schema: JsonSchema, field: string, making: Making): unknown {
  switch ([schema.type].flat()[0]) {
    case 'object':
      return object(schema, making);
    case 'array':
      return list(schema, field, making);
    case 'integer':
    case 'number':
      return Math.max(schema.minimum ?? 1, 1);
    case 'boolean':
      return false;
    case 'string':
      return text(schema, field);
    default:
      return null;
  }
}

/** A value that matches the schema of a field. */
function sample(schema: JsonSchema, field: string, making: Making): unknown {
  if (schema.examples !== undefined) return schema.examples[0];
  if (schema.$ref !== undefined) {
    const name = schema.$ref.slice(SCHEMA_REFERENCE.length);
    return making.bodies[name] ?? sample(making.schemas[name] ?? {}, field, making);
  }
  if (field in FIELDS && allows(schema, FIELDS[field])) return FIELDS[field];
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  const options = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (options === undefined) return byType(schema, field, making);
  const none = options.find(({ type }) => type === 'null');
  return sample(none ?? options[0] ?? {}, field, making);
}

function media(content: Record<string, MediaType>, making: Making): Record<string, MediaType> {
  return Object.fromEntries(
    Object.entries(content).map(([type, value]) => [
      type,
      value.schema === undefined || value.example !== undefined
        ? value
        : { ...value, example: sample(value.schema, '', making) },
    ]),
  );
}

function answer(response: ResponseObject, making: Making): ResponseObject {
  return response.content === undefined
    ? response
    : { ...response, content: media(response.content, making) };
}

/** Optional parameters have no example, because a request with all of them would match no object. */
function parameter(given: Parameter, making: Making): Parameter {
  return given.required === true ? { ...given, example: sample(given.schema, given.name, making) } : given;
}

/** Whether the only value is an object without members. */
const isEmpty = ({ type, properties = {}, additionalProperties }: JsonSchema) =>
  type === 'object' && Object.keys(properties).length === 0 && additionalProperties === false;

/** The schema, or the component that it refers to. */
const resolved = (schema: JsonSchema | undefined, { schemas }: Making) =>
  schema?.$ref === undefined ? schema : schemas[schema.$ref.slice(SCHEMA_REFERENCE.length)];

/** Operations whose body has members, and may be absent. */
const OPTIONAL_BODIES: ReadonlySet<string> = new Set([
  'POST /v2/deployments/{deployment_id}/revisions/{revision_id}/rollback',
]);

/** A body that contains nothing is optional. */
function bodyOf(operation: string, { content, ...body }: RequestBody, making: Making): RequestBody {
  if (operation in REQUESTS)
    return { ...body, content: { [JSON_TYPE]: { ...content[JSON_TYPE], example: REQUESTS[operation] } } };
  const schema = resolved(content[JSON_TYPE]?.schema, making);
  const isOptional = OPTIONAL_BODIES.has(operation) || (schema !== undefined && isEmpty(schema));
  return { ...body, ...(isOptional ? { required: false } : {}), content: media(content, making) };
}

/** The document of a hosting mode with examples of all request bodies, required parameters and responses. */
export function withExamples(document: OpenApiDocument, hosting: HostingMode): OpenApiDocument {
  const common = { schemas: document.components.schemas, bodies: bodies(hosting) };
  const asked = { ...common, whole: false };
  const answered = { ...common, whole: true };
  const paths: OpenApiDocument['paths'] = {};
  for (const { method, path, operation } of operationsOf(document)) {
    const { parameters, requestBody, responses } = operation;
    const made = {
      ...operation,
      ...(parameters && { parameters: parameters.map((given) => parameter(given, asked)) }),
      ...(requestBody && { requestBody: bodyOf(`${method.toUpperCase()} ${path}`, requestBody, asked) }),
      responses: Object.fromEntries(
        Object.entries(responses).map(([status, response]) => [status, answer(response, answered)]),
      ),
    };
    paths[path] = { ...paths[path], [method]: made };
  }
  return { ...document, paths };
}
