/** The part of the OpenAPI document from which the console generates its forms. */
import type { JsonSchema, OpenApiDocument } from '../../src/hub/api/openapi/openapi-types.ts';

const ROOTS = ['CreateDeploymentInput', 'UpdateDeploymentInput'] as const;
const REFERENCE = '#/components/schemas/';

/** Keywords that a form uses. src/console/form/schema.ts has their types. */
const FORM_KEYWORDS: ReadonlySet<string> = new Set([
  ...['$ref', 'type', 'description', 'const', 'enum', 'required', 'minimum', 'maximum', 'maxLength'],
  ...['properties', 'additionalProperties', 'items', 'anyOf'],
]);

/** @param seen gets the name of each schema that is referred to */
function formPart(schema: JsonSchema, seen: (name: string) => void): JsonSchema {
  const part = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(part);
    return typeof value === 'object' && value !== null ? formPart(value as JsonSchema, seen) : value;
  };
  const entries = Object.entries(schema).filter(([keyword]) => FORM_KEYWORDS.has(keyword));
  return Object.fromEntries(
    entries.map(([keyword, value]) => {
      if (keyword === '$ref') seen(String(value).slice(REFERENCE.length));
      if (keyword !== 'properties') return [keyword, part(value)];
      const properties = Object.entries(value as Record<string, JsonSchema>);
      return [keyword, Object.fromEntries(properties.map(([name, each]) => [name, formPart(each, seen)]))];
    }),
  );
}

/** The schemas of requests that create and change deployments, with everything that they refer to. */
export function formSchemas({ components: { schemas } }: OpenApiDocument): Record<string, JsonSchema> {
  const parts: Record<string, JsonSchema> = {};
  const visit = (name: string): void => {
    const schema = schemas[name];
    if (name in parts) return;
    if (schema === undefined) throw new Error(`failed to generate forms: the document has no schema ${name}`);
    const next: string[] = [];
    parts[name] = formPart(schema, (each) => next.push(each));
    next.forEach(visit);
  };
  ROOTS.forEach(visit);
  return parts;
}

/** The text of src/console/form/schema.gen.json. */
export const formSchemaText = (document: OpenApiDocument): string =>
  `${JSON.stringify(formSchemas(document), null, 2)}\n`;
