import { NESTED_FIELDS } from '../domain/resource-spec-input.ts';
import {
  type JsonSchema,
  type MediaType,
  type OpenApiDocument,
  operationsOf,
  type Parameter,
  type ResponseObject,
} from './openapi-types.ts';

/**
 * Examples of every request and answer, made from the schemas: a schema's own `examples` (zod: `.meta({ examples })`)
 * come first, then what is known of a field by its name, then the smallest value that fits.
 */

const ID = '0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a77';
const TIME = '2026-01-15T09:30:00.000Z';

/** Typical values of fields, wherever they are. One that does not fit its schema is a failure of api-openapi.test.ts. */
const FIELDS: Readonly<Record<string, unknown>> = {
  name: 'shop',
  key: 'team',
  value: 'payments',
  image_uri: 'registry.example.com/shop/web:1.4.0',
  image_version: '1.4.0',
  image: 'registry.example.com/shop/web:1.4.0',
  source: 'external_image',
  latest_revision_id: ID,
  active_revision_id: ID,
  deployed_at: TIME,
  last_observed_at: TIME,
  status: 'READY',
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

/** Lists whose items would make an example long. */
const LONG_LISTS = new Set([...NESTED_FIELDS, 'imagePullSecrets', 'volumeMounts', 'initContainers']);

/** Whole bodies of the most used requests. */
const BODIES: Readonly<Record<string, unknown>> = {
  CreateDeploymentInput: {
    name: 'shop',
    source: 'external_image',
    source_config: { resource_spec: { min_scale: 1, max_scale: 3, cpu: 0.5, memory_mb: 512 } },
    source_revision_config: { image_uri: 'registry.example.com/shop/web:1.4.0' },
    secrets: [{ name: 'PAYMENT_TOKEN', value: 'example' }],
  },
  PatchDeploymentInput: {
    source_config: { resource_spec: { max_scale: 5 } },
    source_revision_config: { image_uri: 'registry.example.com/shop/web:1.5.0' },
  },
};

const COMPONENT = '#/components/schemas/';

interface Making {
  readonly schemas: Readonly<Record<string, JsonSchema>>;
  /** An answer shows all fields, a request those that are required. */
  readonly whole: boolean;
}

function allows(schema: JsonSchema, value: unknown): boolean {
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

/** A value that fits the schema of a field. */
function sample(schema: JsonSchema, field: string, making: Making): unknown {
  if (schema.examples !== undefined) return schema.examples[0];
  if (schema.$ref !== undefined) {
    const name = schema.$ref.slice(COMPONENT.length);
    return BODIES[name] ?? sample(making.schemas[name] ?? {}, field, making);
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

/** Optional parameters stay without: an example of each together would filter everything out. */
function parameter(given: Parameter, making: Making): Parameter {
  return given.required === true ? { ...given, example: sample(given.schema, given.name, making) } : given;
}

/** The document with an example of every request body, required parameter and answer. */
export function withExamples(document: OpenApiDocument): OpenApiDocument {
  const { schemas } = document.components;
  const asked = { schemas, whole: false };
  const answered = { schemas, whole: true };
  const paths: OpenApiDocument['paths'] = {};
  for (const { method, path, operation } of operationsOf(document)) {
    const { parameters, requestBody, responses } = operation;
    const made = {
      ...operation,
      ...(parameters && { parameters: parameters.map((given) => parameter(given, asked)) }),
      ...(requestBody && { requestBody: { ...requestBody, content: media(requestBody.content, asked) } }),
      responses: Object.fromEntries(
        Object.entries(responses).map(([status, response]) => [status, answer(response, answered)]),
      ),
    };
    paths[path] = { ...paths[path], [method]: made };
  }
  return { ...document, paths };
}
