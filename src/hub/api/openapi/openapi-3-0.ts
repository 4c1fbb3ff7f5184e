import { withNullableComponents } from './nullable-components.ts';
import type {
  Header,
  JsonSchema,
  MediaType,
  OpenApiDocument,
  Operation,
  Parameter,
  RequestBody,
  ResponseObject,
} from './openapi-types.ts';

/**
 * Converts the document to OpenAPI 3.0.3, for generators that cannot read 3.1.
 *
 * 3.0 describes values with a subset of JSON Schema, without null as a type. `KEYWORDS` converts each keyword. An unknown
 * keyword is an error, so that no constraint is lost silently.
 */

type Convert = (value: unknown) => JsonSchema;

const keep =
  (keyword: string): Convert =>
  (value) => ({ [keyword]: value });

const drop: Convert = () => ({});

const one =
  (keyword: string): Convert =>
  (value) => ({ [keyword]: schemaOf(value as JsonSchema) });

/** Keywords whose value may be a boolean instead of a schema. */
const oneOrFlag =
  (keyword: string): Convert =>
  (value) =>
    typeof value === 'boolean' ? { [keyword]: value } : { [keyword]: schemaOf(value as JsonSchema) };

const several =
  (keyword: string): Convert =>
  (value) => ({ [keyword]: (value as JsonSchema[]).map(schemaOf) });

/** In 3.1, an exclusive bound is a number. In 3.0, it is a flag of the inclusive bound. */
const exclusive =
  (bound: 'minimum' | 'maximum', flag: string): Convert =>
  (value) => ({ [bound]: value as number, [flag]: true });

const KEYWORDS: Readonly<Record<string, Convert>> = {
  ...Object.fromEntries(
    `type description title default enum format pattern minimum maximum multipleOf minLength maxLength minItems maxItems
    uniqueItems minProperties maxProperties required`
      .split(/\s+/)
      .map((keyword) => [keyword, keep(keyword)]),
  ),
  const: (value) => ({ enum: [value] }),
  examples: (value) => ({ example: (value as unknown[])[0] }),
  exclusiveMinimum: exclusive('minimum', 'exclusiveMinimum'),
  exclusiveMaximum: exclusive('maximum', 'exclusiveMaximum'),
  properties: (value) => ({ properties: schemasOf(value as Record<string, JsonSchema>) }),
  items: one('items'),
  not: one('not'),
  additionalProperties: oneOrFlag('additionalProperties'),
  anyOf: several('anyOf'),
  oneOf: several('oneOf'),
  allOf: several('allOf'),
  // 3.0 cannot limit the names of properties.
  propertyNames: drop,
};

function convertKeywords(schema: JsonSchema): JsonSchema {
  const parts = Object.entries(schema).map(([keyword, value]) => {
    const convert = KEYWORDS[keyword] ?? (keyword.startsWith('x-') ? keep(keyword) : undefined);
    if (convert === undefined)
      throw new Error(`failed to convert the document to OpenAPI 3.0: unknown keyword ${keyword}`);
    return convert(value);
  });
  return Object.assign({}, ...parts) as JsonSchema;
}

const isNull = ({ type, const: value }: JsonSchema) => type === 'null' || value === null;

/** 3.0 ignores `nullable` next to an enum without null. */
function nullable(schema: JsonSchema): JsonSchema {
  const values = schema.enum;
  const withNull = values === undefined || values.includes(null) ? {} : { enum: [...values, null] };
  return { ...schema, ...withNull, nullable: true };
}

/** A schema with several types as one schema for each type. */
function byType(types: readonly string[], rest: JsonSchema): JsonSchema {
  const others = types.filter((type) => type !== 'null');
  const [only] = others;
  const schema: JsonSchema =
    others.length === 1 && only !== undefined
      ? { type: only, ...rest }
      : { ...rest, anyOf: others.map((type) => ({ type })) };
  return types.includes('null') ? nullable(convertKeywords(schema)) : convertKeywords(schema);
}

/** A union with null. `nullable` needs a type next to it, so it belongs to an option. References: see `withNullableComponents`. */
function withoutNullOption(keyword: 'anyOf' | 'oneOf', options: readonly JsonSchema[], rest: JsonSchema) {
  const [first, ...others] = options.filter((option) => !isNull(option));
  if (first?.type === undefined)
    throw new Error(`failed to convert the document to OpenAPI 3.0: ${keyword} of null and no type`);
  if (others.length === 0) return nullable({ ...schemaOf(first), ...convertKeywords(rest) });
  return { ...convertKeywords(rest), [keyword]: [nullable(schemaOf(first)), ...others.map(schemaOf)] };
}

function withReference({ $ref, ...rest }: JsonSchema): JsonSchema {
  return Object.keys(rest).length === 0
    ? { $ref: String($ref) }
    : { ...convertKeywords(rest), allOf: [{ $ref: String($ref) }] };
}

/** The schema in the form of OpenAPI 3.0. @throws Error for a keyword that has no rule */
export function schemaOf(schema: JsonSchema): JsonSchema {
  if (schema.$ref !== undefined) return withReference(schema);
  if (Array.isArray(schema.type)) {
    const { type, ...rest } = schema;
    return byType(type, rest);
  }
  if (isNull(schema)) {
    const { type: _type, const: _const, ...rest } = schema;
    return nullable({ type: 'string', enum: [null], ...convertKeywords(rest) });
  }
  for (const keyword of ['anyOf', 'oneOf'] as const) {
    const { [keyword]: options, ...rest } = schema;
    if (options?.some(isNull)) return withoutNullOption(keyword, options, rest);
  }
  return convertKeywords(schema);
}

const mapValues = <From, To>(from: Readonly<Record<string, From>>, convert: (value: From) => To) =>
  Object.fromEntries(Object.entries(from).map(([name, value]) => [name, convert(value)]));

const schemasOf = (schemas: Record<string, JsonSchema>) => mapValues(schemas, schemaOf);

const media = (type: MediaType): MediaType =>
  type.schema === undefined ? type : { ...type, schema: schemaOf(type.schema) };

const content = <Body extends { content?: Record<string, MediaType> }>(body: Body): Body =>
  body.content === undefined ? body : { ...body, content: mapValues(body.content, media) };

const header = (value: Header): Header => ({ ...value, schema: schemaOf(value.schema) });

const response = (value: ResponseObject): ResponseObject =>
  value.headers === undefined
    ? content(value)
    : { ...content(value), headers: mapValues(value.headers, header) };

const parameter = (value: Parameter): Parameter => ({ ...value, schema: schemaOf(value.schema) });

function operation(value: Operation): Operation {
  const { parameters, requestBody, responses } = value;
  return {
    ...value,
    ...(parameters && { parameters: parameters.map(parameter) }),
    ...(requestBody && { requestBody: content<RequestBody>(requestBody) }),
    responses: mapValues(responses, response),
  };
}

function licenseOf({ name, identifier }: NonNullable<OpenApiDocument['info']['license']>) {
  return identifier === undefined ? { name } : { name, url: `https://spdx.org/licenses/${identifier}.html` };
}

/** The document as OpenAPI 3.0.3. */
export function toOpenApi30(from: OpenApiDocument): OpenApiDocument {
  const document = withNullableComponents(from);
  const { schemas, responses = {}, ...components } = document.components;
  const { license, ...info } = document.info;
  return {
    ...document,
    openapi: '3.0.3',
    info: { ...info, ...(license && { license: licenseOf(license) }) },
    paths: mapValues(document.paths, (methods) => mapValues(methods, operation)),
    components: {
      ...components,
      schemas: schemasOf(schemas),
      responses: mapValues(responses, response),
    },
  };
}
