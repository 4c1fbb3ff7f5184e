import { z } from 'zod';

/** What the serializer of responses needs of a zod schema: the fields and their types. */

/** A JSON schema in the form of OpenAPI 3.0: `nullable` instead of a union with null, no references. */
export interface ResponseShape {
  readonly type?: string;
  readonly nullable?: boolean;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, ResponseShape>>;
  readonly additionalProperties?: boolean | ResponseShape;
  readonly items?: ResponseShape;
  readonly anyOf?: readonly ResponseShape[];
  readonly oneOf?: readonly ResponseShape[];
  /** A union, as `shapeOf` returns it: the shape of a value is `then` if `if` matches it. */
  readonly if?: ResponseShape;
  readonly then?: ResponseShape;
  readonly else?: ResponseShape;
}

/** A registry without ids: named schemas are inlined instead of referenced. */
const NO_IDS = z.registry<object>();

type Parts = { readonly [Key in keyof ResponseShape]: ResponseShape[Key] | undefined };

const defined = (parts: Parts): ResponseShape =>
  Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined));

/** The value of a discriminator. Enums with more values are rules. */
const literal = (values: ResponseShape['enum']) => (values?.length === 1 ? values : undefined);

/** What distinguishes an option of a union: its type, its required fields and its literals. */
function selectorOf({ type, required, enum: values, properties = {} }: ResponseShape): ResponseShape {
  const literals = Object.entries(properties).filter(([, field]) => field.enum !== undefined);
  const fields = literals.map(([name, field]) => [name, { enum: field.enum }]);
  return defined({ type, required, enum: values, properties: Object.fromEntries(fields) });
}

const requiredCount = ({ required = [] }: ResponseShape) => required.length;

/**
 * The options of a union, each with its selector. An option that extends another one has more required fields, so it comes
 * first. The last option needs no selector. With anyOf, fast-json-stringify would compile and run a validator for whole
 * options.
 */
function unionOf(options: readonly ResponseShape[]): ResponseShape {
  return options
    .toSorted((a, b) => requiredCount(b) - requiredCount(a))
    .reduceRight((others, option) => {
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      return { if: selectorOf(option), then: option, else: others };
    });
}

/**
 * Removes the rules for values, because they are for requests: a stored value that breaks a newer rule must stay readable.
 * Removes `additionalProperties: false`, because undeclared fields are left out, not refused.
 */
function withoutRules(schema: ResponseShape): ResponseShape {
  const { nullable } = schema;
  const options = schema.anyOf ?? schema.oneOf;
  if (options !== undefined) {
    // No selector matches null, so that null gets to the last option.
    return unionOf(options.map((option) => withoutRules(nullable ? { ...option, nullable } : option)));
  }
  const { type, required, properties, additionalProperties: others, items } = schema;
  const fields = Object.entries(properties ?? {}).map(([name, field]) => [name, withoutRules(field)]);
  return defined({
    type,
    nullable,
    required,
    enum: literal(schema.enum),
    properties: properties && Object.fromEntries(fields),
    additionalProperties: typeof others === 'object' ? withoutRules(others) : undefined,
    items: items && withoutRules(items),
  });
}

/** The fields and types of a response schema. */
export function shapeOf(schema: z.ZodType): ResponseShape {
  const options = { target: 'openapi-3.0', io: 'output', metadata: NO_IDS } as const;
  return withoutRules(z.toJSONSchema(schema, options) as ResponseShape);
}
