/** All response schemas of the API, and random values of them. */
import fc from 'fast-check';
import { z } from 'zod';
import { declaringDeps } from '../../../../../scripts/openapi-document.ts';
import { buildApp } from '../../../../../src/hub/api/core/app.ts';

/** A JSON schema as zod writes it for OpenAPI 3.0. */
export interface Schema {
  readonly type?: 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object';
  readonly nullable?: boolean;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

export interface ResponseSchema {
  /** `GET /v2/deployments 200 application/json`. */
  readonly name: string;
  readonly zod: z.ZodType;
  readonly json: Schema;
}

/** A response of a route: a schema, or one for each content type. */
export type Declared =
  | z.ZodType
  | { readonly content: Readonly<Record<string, { readonly schema: z.ZodType }>> };

export const jsonOf = (schema: z.ZodType): Schema =>
  z.toJSONSchema(schema, {
    target: 'openapi-3.0',
    io: 'output',
    metadata: z.registry<object>(),
  }) as Schema;

export const byContentType = (declared: Declared): Record<string, z.ZodType> =>
  'content' in declared
    ? Object.fromEntries(Object.entries(declared.content).map(([type, { schema }]) => [type, schema]))
    : { 'application/json': declared };

/** The schemas of the responses of all routes, each once. */
export async function responseSchemas(): Promise<ResponseSchema[]> {
  const found = new Map<z.ZodType, string>();
  const app = buildApp(declaringDeps());
  app.addHook('onRoute', ({ method, url, schema }) => {
    for (const [status, declared] of Object.entries((schema?.response ?? {}) as Record<string, Declared>)) {
      for (const [type, each] of Object.entries(byContentType(declared)))
        if (!found.has(each)) found.set(each, `${method} ${url} ${status} ${type}`);
    }
  });
  await app.ready();
  await app.close();
  return [...found].map(([schema, name]) => ({ name, zod: schema, json: jsonOf(schema) }));
}

/** The name of a field that no schema declares. */
export const UNDECLARED = 'undeclared_field';

/** A valid value, and the same with an undeclared field in each object that has a fixed set of fields. */
export interface Pair {
  readonly valid: unknown;
  readonly extended: unknown;
}

const same = (values: fc.Arbitrary<unknown>): fc.Arbitrary<Pair> =>
  values.map((value) => ({ valid: value, extended: value }));

const SCALARS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  // Texts of users have any characters, also halves of surrogate pairs.
  string: fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string(),
    fc.constantFrom('', '"', '\\', '\ud800', '\u2028'),
  ),
  integer: fc.maxSafeInteger(),
  number: fc.double({ noNaN: true, noDefaultInfinity: true }),
  boolean: fc.boolean(),
};

type Fields = Readonly<Record<string, Pair | undefined>>;

function side(fields: Fields, which: keyof Pair): Record<string, unknown> {
  const entries = Object.entries(fields).map(([name, pair]) => [name, pair?.[which]] as const);
  return Object.fromEntries(entries);
}

function objects({
  properties = {},
  required = [],
  additionalProperties: others,
}: Schema): fc.Arbitrary<Pair> {
  const named = Object.entries(properties).map(([name, schema]): [string, fc.Arbitrary<Pair | undefined>] => {
    const pairs = pairsOf(schema);
    // JSON.stringify leaves out undefined fields.
    return [name, required.includes(name) ? pairs : fc.option(pairs, { nil: undefined })];
  });
  const fields: fc.Arbitrary<Fields> = fc.record(Object.fromEntries(named));
  if (typeof others !== 'object') {
    return fields.map((all) => ({
      valid: side(all, 'valid'),
      extended: { ...side(all, 'extended'), [UNDECLARED]: 'leaked' },
    }));
  }
  const entries = fc.dictionary(fc.string(), pairsOf(others), { maxKeys: 3 });
  return fc.tuple(entries, fields).map(([free, all]) => {
    const merged = { ...free, ...all };
    return { valid: side(merged, 'valid'), extended: side(merged, 'extended') };
  });
}

/** Values of a schema. Patterns, formats and limits are ignored: the serializer must not depend on them. */
export function pairsOf(schema: Schema): fc.Arbitrary<Pair> {
  if (schema.nullable === true) {
    const { nullable, ...others } = schema;
    return others.enum?.every((value) => value === null)
      ? same(fc.constant(null))
      : fc.oneof(same(fc.constant(null)), pairsOf(others));
  }
  const options = schema.anyOf ?? schema.oneOf;
  if (options !== undefined) return fc.oneof(...options.map(pairsOf));
  if (schema.enum !== undefined) return same(fc.constantFrom(...schema.enum));
  if (schema.type === 'object') return objects(schema);
  if (schema.type === 'array') {
    return fc.array(pairsOf(schema.items ?? {}), { minLength: 1, maxLength: 2 }).map((pairs) => ({
      valid: pairs.map(({ valid }) => valid),
      extended: pairs.map(({ extended }) => extended),
    }));
  }
  return same(SCALARS[schema.type ?? ''] ?? fc.jsonValue());
}

const isTyped = ({ type, nullable }: Schema) => type !== undefined && nullable !== true;

/** Values that a typed field cannot have. */
const wrongValues = (schema: Schema): unknown[] =>
  isTyped(schema) ? [null, schema.type === 'string' ? 1 : 'text'] : [];

function* brokenFields(schema: Schema, value: Readonly<Record<string, unknown>>, missing: boolean) {
  const { properties = {}, required = [], additionalProperties: others } = schema;
  for (const [name, field] of Object.entries(value)) {
    const own = properties[name] ?? (typeof others === 'object' ? others : {});
    if (missing && required.includes(name)) yield { ...value, [name]: undefined };
    if (field !== undefined)
      for (const wrong of brokenOf(own, field, missing)) yield { ...value, [name]: wrong };
  }
}

/**
 * The value with one field of a wrong type, for each field.
 * @param missing also with one required field removed, for each
 */
export function* brokenOf(schema: Schema, value: unknown, missing = true): Generator<unknown> {
  const options = schema.anyOf ?? schema.oneOf;
  if (options !== undefined) {
    // Another option may not have the field that is removed.
    for (const option of options.filter(({ type }) => type === 'object')) yield* brokenOption(option, value);
    return;
  }
  yield* wrongValues(schema);
  if (Array.isArray(value)) {
    for (const [at, item] of value.entries())
      for (const wrong of brokenOf(schema.items ?? {}, item, missing)) yield value.with(at, wrong);
  } else if (typeof value === 'object' && value !== null && schema.type === 'object') {
    yield* brokenFields(schema, value as Readonly<Record<string, unknown>>, missing);
  }
}

/** Only for the option that the value is of. */
function* brokenOption(option: Schema, value: unknown): Generator<unknown> {
  const { properties = {}, required = [] } = option;
  const names = Object.keys(value as object);
  const isIt = names.every((name) => name in properties) && required.every((name) => names.includes(name));
  if (isIt) yield* brokenFields(option, value as Readonly<Record<string, unknown>>, false);
}
