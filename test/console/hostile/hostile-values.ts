/** Answers of the API with hostile content in each text that a tenant, a pod or a git host can influence. Pure. */

/** What a schema of the OpenAPI document may contain. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly minimum?: number;
  readonly maximum?: number;
}
export type Schemas = Readonly<Record<string, Schema>>;

/** First and last part of each hostile text, which the checks search for. */
export const START = 'javascript:hostile()//';
export const END = '#end';

/** All kinds of content in one text: each field is tried with all of them at once. */
const CONTENT = [
  '<x-hostile onclick="hostile()"><img src=x onerror=hostile()><script>hostile()</script>',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a text that templates could replace.
  '"><svg onload=hostile()>\'};{{7*7}}${7*7}</title></textarea></style>&lt;b&gt;%s\\',
  // Right-to-left letters, an override and an isolate that are not closed, and marks.
  'שלום مرحبا \u202egnp.exe \u2067\u200f\u061c\u202d',
  // Zero-width, combining and control characters, and separators.
  '\u200b\u200d\ufeff\u00ad z\u0335\u0321\u031b\u0322\u0308\u0000\u0007\u2028\u2029\r\n\t',
  '👩‍👩‍👧‍👦🏴‍☠️🚢🇺🇳',
  // Colors of terminals, and a link of terminals.
  '\u001b[31mred\u001b[0m\u001b]8;;javascript:hostile()\u0007link\u001b]8;;\u0007\u001b[2J',
].join(' ');

/** Text without places for line breaks. */
const LONG = 10_000;

/** @param number makes the text unique */
export const hostileText = (number: number, isLong: boolean): string =>
  `${START}${number} ${CONTENT} ${isLong ? 'W'.repeat(LONG) : ''}${END}`;

/** Deep settings have hundreds of texts, which would make each answer some megabytes long. */
const SHORT_BELOW = 'resource_spec';
const MAX_DEPTH = 16;
const AT = '2026-01-15T09:30:00.000Z';

/**
 * Generates values of schemas. Texts and ids are unique. The choices in an answer depend only on its schema and on its
 * turn, so that a page that fails with one choice fails again.
 */
export function createHostile(schemas: Schemas) {
  let count = 0;
  let choice = 0;
  const uuid = () => `0196f0a0-5c1e-7b3a-9d51-${String(count++).padStart(12, '0')}`;
  const text = (isLong: boolean) => hostileText(count++, isLong);
  const rotated = <T>(values: readonly T[]): T => values[choice++ % values.length] as T;

  function stringOf({ format }: Schema, isLong: boolean): string {
    if (format === 'uuid') return uuid();
    return format === 'date-time' ? AT : text(isLong);
  }

  function objectOf({ properties = {}, additionalProperties }: Schema, depth: number, isLong: boolean) {
    const entries = Object.entries(properties).map(([name, schema]) => [
      name,
      generate(schema, depth + 1, isLong && name !== SHORT_BELOW),
    ]);
    const isMap = typeof additionalProperties === 'object' || Object.keys(properties).length === 0;
    const more = typeof additionalProperties === 'object' ? additionalProperties : { type: 'string' };
    if (isMap) entries.push([text(false), generate(more, depth + 1, isLong)]);
    return Object.fromEntries(entries) as object;
  }

  function arrayOf({ items = {} }: Schema, depth: number, isLong: boolean): unknown[] {
    // An array of all values shows the most, such as all actions that a scope permits.
    if (items.enum !== undefined) return [...items.enum];
    // A browser needs long for long texts, so the second one is short.
    return [generate(items, depth + 1, isLong), generate(items, depth + 1, false)];
  }

  /** The schema to which a reference points. */
  function referenced(reference: string): Schema {
    const name = reference.slice(reference.lastIndexOf('/') + 1);
    const found = schemas[name];
    if (found === undefined) throw new Error(`failed to generate an answer: there is no schema ${name}`);
    return found;
  }

  function generate(schema: Schema, depth = 0, isLong = true): unknown {
    const { $ref, allOf, oneOf, anyOf } = schema;
    if (depth > MAX_DEPTH) return null;
    if ($ref !== undefined) return generate(referenced($ref), depth + 1, isLong);
    if (schema.const !== undefined) return schema.const;
    if (schema.enum !== undefined) return rotated(schema.enum.filter((value) => value !== null));
    const choices = (oneOf ?? anyOf)?.filter(({ type }) => type !== 'null');
    if (choices !== undefined) return generate(rotated(choices), depth + 1, isLong);
    if (allOf !== undefined)
      return Object.assign({}, ...allOf.map((part) => generate(part, depth + 1, isLong)));
    return typedValue(schema, depth, isLong);
  }

  function typedValue(schema: Schema, depth: number, isLong: boolean): unknown {
    switch ([schema.type ?? 'object'].flat().find((each) => each !== 'null')) {
      case 'string':
        return stringOf(schema, isLong);
      case 'boolean':
        return rotated([true, false]);
      case 'integer':
      case 'number':
        return Math.min(Math.max(1, schema.minimum ?? 1), schema.maximum ?? 1);
      case 'array':
        return arrayOf(schema, depth, isLong);
      default:
        return objectOf(schema, depth, isLong);
    }
  }

  /** One value for each form that the schema permits, such as each kind of line of a stream. */
  function formsOf(schema: Schema): unknown[] {
    const found = schema.$ref === undefined ? schema : referenced(schema.$ref);
    const forms = found.oneOf ?? found.anyOf;
    return forms === undefined ? [generate(schema)] : forms.map((form) => generate(form));
  }
  /** @param turn how often the answer was generated before: each turn makes other choices */
  function answerOf(schema: Schema, turn: number): unknown {
    choice = turn;
    return generate(schema);
  }
  return { answerOf, formsOf, text };
}

export type Hostile = ReturnType<typeof createHostile>;
