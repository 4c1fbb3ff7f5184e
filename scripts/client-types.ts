/**
 * Types of the API's client, made from the OpenAPI document: src/cli/client/api-types.ts. A test fails when it is stale.
 *
 *   npm run client-types [-- --help]
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type {
  JsonSchema,
  OpenApiDocument,
  Operation,
  ResponseObject,
} from '../src/hub/api/openapi/openapi-types.ts';
import { operationsOf } from '../src/hub/api/openapi/openapi-types.ts';
import { openApiDocument } from './openapi-document.ts';

const FILE = new URL('../src/cli/client/api-types.ts', import.meta.url);
const COMPONENT = '#/components/schemas/';

/** The listener's calls are its own room's; people have no use for them. */
const LEFT_OUT: ReadonlySet<string> = new Set(['listener protocol', 'health']);

const union = (types: readonly string[]) => [...new Set(types)].join(' | ');

function objectType(schema: JsonSchema): string {
  const { properties = {}, required = [], additionalProperties } = schema;
  const members = Object.entries(properties).map(([name, member]) => {
    const optional = required.includes(name) ? '' : '?';
    return `${JSON.stringify(name)}${optional}: ${typeOf(member)}`;
  });
  const open = typeof additionalProperties === 'object' || additionalProperties === undefined;
  if (!open) return members.length === 0 ? 'Record<string, never>' : `{ ${members.join('; ')} }`;
  const value = typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown';
  return members.length === 0
    ? `Record<string, ${value}>`
    : `{ ${members.join('; ')}; [more: string]: unknown }`;
}

function typeByName(name: string | undefined, schema: JsonSchema): string {
  switch (name) {
    case 'object':
      return objectType(schema);
    case 'array':
      return schema.items === undefined ? 'unknown[]' : `(${typeOf(schema.items)})[]`;
    case 'integer':
    case 'number':
      return 'number';
    case 'string':
    case 'boolean':
    case 'null':
      return name;
    default:
      return 'unknown';
  }
}

/** A JSON Schema as a TypeScript type. */
export function typeOf(schema: JsonSchema): string {
  if (schema.$ref !== undefined) return schema.$ref.slice(COMPONENT.length);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return union(schema.enum.map((value) => JSON.stringify(value)));
  const options = schema.anyOf ?? schema.oneOf;
  if (options !== undefined) return union(options.map(typeOf));
  if (schema.allOf !== undefined) return schema.allOf.map((part) => `(${typeOf(part)})`).join(' & ');
  return union([schema.type].flat().map((name) => typeByName(name, schema)));
}

function answerType(responses: readonly ResponseObject[]): string {
  const types = responses.map(({ content }) => {
    const schema = content?.['application/json']?.schema;
    return schema === undefined ? 'null' : typeOf(schema);
  });
  return union(types);
}

function parametersType(operation: Operation, place: string): string {
  const found = (operation.parameters ?? []).filter((parameter) => parameter.in === place);
  const members = found.map(
    ({ name, required, schema }) => `${JSON.stringify(name)}${required ? '' : '?'}: ${typeOf(schema)}`,
  );
  return members.length === 0 ? 'Record<never, never>' : `{ ${members.join('; ')} }`;
}

function operationType(operation: Operation): string {
  const body = operation.requestBody?.content['application/json']?.schema;
  const successes = Object.entries(operation.responses).filter(([status]) => Number(status) < 400);
  return [
    `path: ${parametersType(operation, 'path')}`,
    `query: ${parametersType(operation, 'query')}`,
    `headers: ${parametersType(operation, 'header')}`,
    `body: ${body === undefined ? 'undefined' : typeOf(body)}`,
    `answer: ${answerType(successes.map(([, response]) => response))}`,
  ].join('; ');
}

/** The names of components that a text refers to, and those that these refer to. */
function used(text: string, types: ReadonlyMap<string, string>): Set<string> {
  const found = new Set<string>();
  const look = (words: string) => {
    for (const [word] of words.matchAll(/\b[A-Z]\w+\b/g)) {
      const type = types.get(word);
      if (type === undefined || found.has(word)) continue;
      found.add(word);
      look(type);
    }
  };
  look(text);
  return found;
}

/** As `npm run check` wants it. */
function formatted(text: string): string {
  const biome = fileURLToPath(new URL('../node_modules/.bin/biome', import.meta.url));
  const args = ['format', '--stdin-file-path=src/cli/client/api-types.ts'];
  return execFileSync(biome, args, { input: text, encoding: 'utf8' });
}

/** The text of src/cli/client/api-types.ts. */
export function clientTypes(document: OpenApiDocument): string {
  const operations = operationsOf(document)
    .filter(({ operation }) => !LEFT_OUT.has(operation.tags?.[0] ?? ''))
    .map(({ method, path, operation }) => ({ name: operation.operationId ?? '', method, path, operation }));
  const interfaces = operations.map(({ name, operation }) => `  ${name}: { ${operationType(operation)} };`);
  const routes = operations.map(
    ({ name, method, path }) => `  ${name}: { method: '${method.toUpperCase()}', path: '${path}' },`,
  );
  const types = new Map(
    Object.entries(document.components.schemas).map(([name, schema]) => [name, typeOf(schema)]),
  );
  const names = used(interfaces.join('\n'), types);
  const components = [...types].filter(([name]) => names.has(name) || name === 'FieldErrors');
  const text = [
    '// Made by `npm run client-types` from the OpenAPI document. Do not edit.',
    '',
    ...components.map(([name, type]) => `export type ${name} = ${type};`),
    '',
    '/** What each operation takes and answers, by its operationId. */',
    'export interface Operations {',
    ...interfaces,
    '}',
    '',
    '/** Method and path of each operation. */',
    'export const OPERATIONS = {',
    ...routes,
    '} as const satisfies Record<keyof Operations, { method: string; path: string }>;',
    '',
  ].join('\n');
  return formatted(text);
}

if (import.meta.main) {
  if (process.argv.includes('--help'))
    console.log('usage: npm run client-types\nGenerates src/cli/client/api-types.ts.');
  else writeFileSync(FILE, clientTypes((await openApiDocument()) as OpenApiDocument));
}
