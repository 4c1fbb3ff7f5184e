import { type JsonSchema, type OpenApiDocument, SCHEMA_REFERENCE } from './openapi-types.ts';

/**
 * In OpenAPI 3.0, a reference cannot have `nullable` next to it, and `nullable` beside `allOf` does not admit null. Therefore a
 * component is nullable itself.
 */

/** The name in a union of a component and null; null: the value is something else. */
function nullableName(value: unknown): string | null {
  const { anyOf = [] } = (value ?? {}) as JsonSchema;
  const [component] = anyOf.filter(({ type }) => type !== 'null');
  const isUnion = anyOf.length === 2 && anyOf.some(({ type }) => type === 'null');
  return isUnion && component?.$ref !== undefined ? component.$ref.slice(SCHEMA_REFERENCE.length) : null;
}

/** @throws Error for a component that is not an object, which the document has no union with null of */
function admitNull(name: string, schema: JsonSchema | undefined): JsonSchema {
  if (typeof schema?.type !== 'string')
    throw new Error(`failed to admit null for the schema ${name}: it has no single type`);
  return { ...schema, type: [schema.type, 'null'] };
}

/**
 * Replaces each union of a component X and null by a reference to a component that admits null: X itself, if the document
 * refers to X nowhere else, and otherwise a copy `NullableX`. A reference has no description in 3.0, so that of X applies.
 */
export function withNullableComponents(document: OpenApiDocument): OpenApiDocument {
  const names = new Set<string>();
  const others = JSON.parse(JSON.stringify(document), (_key, value) => {
    const name = nullableName(value);
    if (name !== null) names.add(name);
    return name === null ? value : null;
  });
  const rest = JSON.stringify(others);
  const isShared = (name: string) => rest.includes(`"${SCHEMA_REFERENCE}${name}"`);
  const target = (name: string) => (isShared(name) ? `Nullable${name}` : name);
  const replaced = JSON.parse(JSON.stringify(document), (_key, value) => {
    const name = nullableName(value);
    return name === null ? value : { $ref: `${SCHEMA_REFERENCE}${target(name)}` };
  }) as OpenApiDocument;
  const { schemas } = replaced.components;
  const added = [...names].map((name) => [target(name), admitNull(name, schemas[name])]);
  return {
    ...replaced,
    components: { ...replaced.components, schemas: { ...schemas, ...Object.fromEntries(added) } },
  };
}
