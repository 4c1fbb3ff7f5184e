import type { Json } from './json.ts';
import generated from './schema.gen.json' with { type: 'json' };

/** The schemas of the OpenAPI document from which forms are generated. */

export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly enum?: readonly Json[];
  readonly const?: Json;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
}

export type Schemas = Readonly<Record<string, JsonSchema>>;

/** The schemas of requests that create and change deployments. `npm run docs` writes them. */
export const SCHEMAS = generated as unknown as Schemas;

/** How a value is entered. */
export type Kind =
  | {
      readonly kind: 'number';
      readonly isInteger: boolean;
      readonly minimum?: number;
      readonly maximum?: number;
    }
  | { readonly kind: 'text'; readonly isLong: boolean }
  | { readonly kind: 'choice'; readonly choices: readonly string[] }
  | { readonly kind: 'boolean' }
  /** A list of texts. */
  | { readonly kind: 'texts' }
  /** Names with texts. */
  | { readonly kind: 'map' }
  | { readonly kind: 'struct'; readonly fields: readonly Field[] }
  /** A list of objects. */
  | { readonly kind: 'items'; readonly item: Field }
  /** Anything else, as YAML. */
  | { readonly kind: 'free' };

export interface Field {
  readonly name: string;
  readonly description: string | null;
  readonly kind: Kind;
  /** The value may be null, which means absent. */
  readonly isNullable: boolean;
  readonly isRequired: boolean;
}

const REFERENCE = '#/components/schemas/';
/** Texts that may be longer than this get several lines. */
const LONG_TEXT = 1_024;

function referred(schemas: Schemas, schema: JsonSchema): JsonSchema {
  if (schema.$ref === undefined) return schema;
  const name = schema.$ref.slice(REFERENCE.length);
  const found = schemas[name];
  if (found === undefined) throw new Error(`failed to read the schema of the form: it has no ${name}`);
  return found;
}

const isNull = ({ type }: JsonSchema) => type === 'null';

/** The schema without null and without references. Outer descriptions are about the use, so they win. */
function unwrap(schemas: Schemas, schema: JsonSchema): { schema: JsonSchema; isNullable: boolean } {
  const found = referred(schemas, schema);
  const isNullable = Array.isArray(found.type) && found.type.includes('null');
  const other = found.anyOf?.filter((each) => !isNull(each));
  if (found.anyOf === undefined || other?.length !== 1 || other[0] === undefined)
    return { schema: { ...found, ...described(schema) }, isNullable };
  const inner = unwrap(schemas, other[0]);
  return {
    schema: { ...inner.schema, ...described(found), ...described(schema) },
    isNullable: inner.isNullable || found.anyOf.some(isNull),
  };
}

const described = ({ description }: JsonSchema) => (description === undefined ? {} : { description });

const typesOf = ({ type = [] }: JsonSchema): readonly string[] => (typeof type === 'string' ? [type] : type);

function numberKind({ minimum, maximum }: JsonSchema, isInteger: boolean): Kind {
  return {
    kind: 'number',
    isInteger,
    ...(minimum === undefined ? {} : { minimum }),
    ...(maximum === undefined ? {} : { maximum }),
  };
}

function choicesOf(schema: JsonSchema): readonly string[] | null {
  const values = schema.const === undefined ? schema.enum : [schema.const];
  return values?.every((value) => typeof value === 'string') ? values : null;
}

function listKind(schemas: Schemas, items: JsonSchema): Kind {
  const item = fieldOf(schemas, '', items);
  if (item.kind.kind === 'text') return { kind: 'texts' };
  return item.kind.kind === 'struct' ? { kind: 'items', item } : { kind: 'free' };
}

function objectKind(schemas: Schemas, schema: JsonSchema): Kind {
  const { properties, required = [], additionalProperties: values } = schema;
  if (properties !== undefined && values === false)
    return {
      kind: 'struct',
      fields: Object.entries(properties).map(([name, each]) =>
        fieldOf(schemas, name, each, required.includes(name)),
      ),
    };
  return typeof values === 'object' && typesOf(values).includes('string')
    ? { kind: 'map' }
    : { kind: 'free' };
}

function kindOf(schemas: Schemas, schema: JsonSchema): Kind {
  const types = typesOf(schema);
  const choices = choicesOf(schema);
  if (choices !== null) return { kind: 'choice', choices };
  if (types.includes('boolean')) return { kind: 'boolean' };
  if (types.includes('integer')) return numberKind(schema, true);
  if (types.includes('number')) return numberKind(schema, false);
  if (types.includes('string')) return { kind: 'text', isLong: (schema.maxLength ?? 0) > LONG_TEXT };
  if (types.includes('array') && schema.items !== undefined) return listKind(schemas, schema.items);
  if (types.includes('object')) return objectKind(schemas, schema);
  return { kind: 'free' };
}

/** A field of a form. */
export function fieldOf(schemas: Schemas, name: string, schema: JsonSchema, isRequired = false): Field {
  const { schema: plain, isNullable } = unwrap(schemas, schema);
  return {
    name,
    description: plain.description ?? null,
    kind: kindOf(schemas, plain),
    isNullable,
    isRequired,
  };
}

/** The fields of a request body. */
export function bodyField(name: 'CreateDeploymentInput' | 'UpdateDeploymentInput', schemas = SCHEMAS): Field {
  return fieldOf(schemas, '', { $ref: `${REFERENCE}${name}` });
}

/** A field of a struct; null: the struct has no such field. */
export function memberOf({ kind }: Field, name: string): Field | null {
  return kind.kind === 'struct' ? (kind.fields.find((field) => field.name === name) ?? null) : null;
}

/** The field at a path of names; null: it does not exist. */
export const fieldAt = (field: Field, path: readonly string[]): Field | null =>
  path.reduce<Field | null>((each, name) => each && memberOf(each, name), field);

/** The field without the fields at some paths, which are shown elsewhere. */
export function withoutFields(field: Field, paths: readonly (readonly string[])[]): Field {
  if (field.kind.kind !== 'struct') return field;
  const gone = new Set(paths.filter(({ length }) => length === 1).map(([name]) => name));
  const fields = field.kind.fields
    .filter(({ name }) => !gone.has(name))
    .map((each) =>
      withoutFields(
        each,
        paths.filter((path) => path.length > 1 && path[0] === each.name).map((path) => path.slice(1)),
      ),
    );
  return { ...field, kind: { kind: 'struct', fields } };
}
