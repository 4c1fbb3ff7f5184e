import {
  NESTED_FIELDS,
  QUANTITIES,
  QUANTITY_MAPS,
} from '../../../domain/resource-spec/resource-spec-input.ts';
import { type JsonSchema, type OpenApiDocument, SCHEMA_REFERENCE } from './openapi-types.ts';

/**
 * Documents the input forms that domain/resource-spec/resource-spec-input.ts accepts: null for absent values, and
 * numbers as quantities.
 */

function orAlso(schema: JsonSchema, ...others: JsonSchema[]): JsonSchema {
  const { description, ...rest } = schema;
  const { anyOf, ...more } = rest;
  const options = anyOf !== undefined && Object.keys(more).length === 0 ? anyOf : [rest];
  return { ...(description === undefined ? {} : { description }), anyOf: [...options, ...others] };
}

/** Widens schemas in place. `seen` contains the components that are already widened. */
function loosen(
  schema: JsonSchema,
  schemas: Record<string, JsonSchema>,
  key: string,
  seen: Set<string>,
): void {
  const name = schema.$ref?.startsWith(SCHEMA_REFERENCE) ? schema.$ref.slice(SCHEMA_REFERENCE.length) : null;
  const target = name === null ? undefined : schemas[name];
  if (name !== null && target !== undefined && !seen.has(name)) {
    seen.add(name);
    loosen(target, schemas, key, seen);
  }
  for (const below of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])])
    loosen(below, schemas, key, seen);
  if (schema.items !== undefined) loosen(schema.items, schemas, key, seen);
  loosenMembers(schema, schemas, key, seen);
}

function loosenMembers(
  schema: JsonSchema,
  schemas: Record<string, JsonSchema>,
  key: string,
  seen: Set<string>,
): void {
  const number: JsonSchema = { type: 'number', minimum: 0 };
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    loosen(member, schemas, name, seen);
    const amount = QUANTITIES.has(name) ? [number] : [];
    const absent = schema.required?.includes(name) ? [] : [{ type: 'null' }];
    if (amount.length + absent.length > 0 && schema.properties !== undefined)
      schema.properties[name] = orAlso(member, ...amount, ...absent);
  }
  if (typeof schema.additionalProperties === 'object') {
    const amount = QUANTITY_MAPS.has(key) ? [number] : [];
    schema.additionalProperties = orAlso(schema.additionalProperties, ...amount, { type: 'null' });
  }
}

/** The document with all forms of request bodies that the API accepts. */
export function withLiberties(document: OpenApiDocument): OpenApiDocument {
  const schemas = structuredClone(document.components.schemas);
  const seen = new Set<string>();
  for (const field of NESTED_FIELDS) {
    const schema = schemas['ResourceSpecInput']?.properties?.[field];
    if (schema !== undefined) loosen(schema, schemas, field, seen);
  }
  return { ...document, components: { ...document.components, schemas } };
}
