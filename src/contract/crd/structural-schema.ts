import { z } from 'zod';
import { quantitySchema } from '../../domain/kubernetes/quantity.ts';

/**
 * Converts zod schemas to structural schemas for CustomResourceDefinitions.
 *
 * The API server accepts OpenAPI v3.0 without many features of JSON Schema. `CONSTRUCTS` converts each keyword. An unknown
 * keyword is an error, so that no constraint is lost silently.
 */

/** One CEL rule of the API server. */
export interface ValidationRule {
  rule: string;
  message: string;
  /** A CEL expression for the message. If the expression fails, `message` is used. */
  messageExpression?: string;
}

/** The fields of `JSONSchemaProps` that the generator writes. */
export interface StructuralSchema {
  description?: string;
  type?: string;
  properties?: Record<string, StructuralSchema>;
  additionalProperties?: StructuralSchema;
  items?: StructuralSchema;
  anyOf?: StructuralSchema[];
  minimum?: number;
  exclusiveMinimum?: boolean;
  required?: string[];
  default?: unknown;
  format?: string;
  'x-kubernetes-validations'?: ValidationRule[];
  [keyword: string]: unknown;
}

type JsonSchema = Record<string, unknown>;
type Construct = (value: unknown, schema: JsonSchema) => Partial<StructuralSchema>;

/** Maximum number of entries of a map without its own bound. The cost estimate of CEL needs a bound. */
const MAX_MAP_ENTRIES = 256;

const drop: Construct = () => ({});

function keep(keyword: string): Construct {
  return (value) => ({ [keyword]: value });
}

/**
 * Omits the bounds that zod adds to all integers (the safe integers of JavaScript), because they do not help the
 * reader.
 */
function keepBound(keyword: string): Construct {
  return (value) => (Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER ? {} : { [keyword]: value });
}

/** In JSON Schema, exclusiveMinimum is a number. In OpenAPI v3.0, exclusiveMinimum is a flag of `minimum`. */
function exclusiveMinimum(value: unknown, schema: JsonSchema): Partial<StructuralSchema> {
  const bound = Number(value);
  return schema.type === 'integer' ? { minimum: bound + 1 } : { minimum: bound, exclusiveMinimum: true };
}

/** Alternatives must not have a type. The type is set once, outside of the alternatives. */
function anyOf(value: unknown): Partial<StructuralSchema> {
  const alternatives = (value as JsonSchema[]).map(convert);
  const [type, ...others] = new Set(alternatives.map((alternative) => alternative.type));
  if (type === undefined || others.length > 0) {
    throw new Error('failed to create a structural schema: anyOf has several types');
  }
  return { type, anyOf: alternatives.map(({ type: _type, ...rest }) => rest) };
}

/**
 * zod writes `false` for strict objects. The API server rejects `false` together with properties, and drops unknown
 * fields in any case.
 */
function additionalProperties(value: unknown, schema: JsonSchema): Partial<StructuralSchema> {
  if (value === false) return {};
  return {
    additionalProperties: convert(value as JsonSchema),
    ...(schema.maxProperties === undefined ? { maxProperties: MAX_MAP_ENTRIES } : {}),
  };
}

function properties(value: unknown): Partial<StructuralSchema> {
  const entries = Object.entries(value as Record<string, JsonSchema>);
  return { properties: Object.fromEntries(entries.map(([name, schema]) => [name, convert(schema)])) };
}

const QUANTITY_RULE: ValidationRule = {
  rule: "isQuantity(self) && !quantity(self).isLessThan(quantity('0'))",
  message: 'must be a Kubernetes quantity of at least 0, such as 500m or 2Gi',
};

/** Converter of each JSON Schema keyword. */
const CONSTRUCTS: Readonly<Record<string, Construct>> = {
  $schema: drop,
  description: keep('description'),
  type: keep('type'),
  format: keep('format'),
  enum: keep('enum'),
  const: (value) => ({ enum: [value] }),
  default: keep('default'),
  required: keep('required'),
  pattern: keep('pattern'),
  minLength: keep('minLength'),
  maxLength: keep('maxLength'),
  minItems: keep('minItems'),
  maxItems: keep('maxItems'),
  maxProperties: keep('maxProperties'),
  minimum: keepBound('minimum'),
  maximum: keepBound('maximum'),
  exclusiveMinimum,
  anyOf,
  properties,
  additionalProperties,
  items: (value) => ({ items: convert(value as JsonSchema) }),
  // A structural schema cannot check the keys of maps. The operator checks the keys.
  propertyNames: drop,
  freeForm: drop,
  // Examples are for the OpenAPI document.
  examples: drop,
  quantity: () => ({ 'x-kubernetes-validations': [QUANTITY_RULE] }),
};

/**
 * An object of a Kubernetes type. The object is stored unchanged, and the operator and the API server check it as part
 * of a pod.
 */
function freeForm({ description, type, default: fallback }: JsonSchema): StructuralSchema {
  return {
    ...(description === undefined ? {} : { description: String(description) }),
    type: String(type),
    ...(fallback === undefined ? {} : { default: fallback }),
    'x-kubernetes-preserve-unknown-fields': true,
  };
}

function convert(schema: JsonSchema): StructuralSchema {
  // Maps of strings have a schema. Objects with fixed fields would need a copy of the Kubernetes schema.
  if (schema.freeForm === true && schema.properties !== undefined) return freeForm(schema);
  const converted: StructuralSchema = {};
  for (const [keyword, value] of Object.entries(schema)) {
    const construct = Object.hasOwn(CONSTRUCTS, keyword) ? CONSTRUCTS[keyword] : undefined;
    if (construct === undefined) {
      throw new Error(`failed to create a structural schema: no rule for the keyword "${keyword}"`);
    }
    Object.assign(converted, construct(value, schema));
  }
  return ordered(converted);
}

const ORDER = [
  'description',
  'type',
  'format',
  'default',
  'enum',
  'required',
  'properties',
  'additionalProperties',
  'items',
];

/** Orders the keys so that the most important come first. */
function ordered(schema: StructuralSchema): StructuralSchema {
  const rank = (keyword: string) => (ORDER.indexOf(keyword) + ORDER.length + 1) % (ORDER.length + 1);
  return Object.fromEntries(Object.entries(schema).sort(([a], [b]) => rank(a) - rank(b)));
}

/** Replaces references by their definitions. Schemas with an id (for the OpenAPI document) are references. */
function inlined(value: unknown, definitions: Readonly<Record<string, unknown>>): unknown {
  if (Array.isArray(value)) return value.map((item) => inlined(item, definitions));
  if (value === null || typeof value !== 'object') return value;
  const { $ref, $defs: _, ...rest } = value as JsonSchema;
  const own = Object.fromEntries(
    Object.entries(rest).map(([key, member]) => [key, inlined(member, definitions)]),
  );
  if (typeof $ref !== 'string') return own;
  const { id: _id, ...target } = definitions[$ref.replace('#/$defs/', '')] as JsonSchema;
  return { ...(inlined(target, definitions) as JsonSchema), ...own };
}

/**
 * The structural schema of the input of a zod schema (without defaults).
 * @throws Error for a construct that structural schemas do not support
 */
export function toStructuralSchema(schema: z.ZodType): StructuralSchema {
  const document = z.toJSONSchema(schema, {
    io: 'input',
    reused: 'inline',
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema === quantitySchema) jsonSchema.quantity = true;
    },
  });
  return convert(inlined(document, document.$defs ?? {}) as JsonSchema);
}
