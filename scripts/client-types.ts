/**
 * The types of the CLI's API client: src/cli/client/api.gen.ts, generated from the OpenAPI document by openapi-typescript.
 *
 *   npm run client-types [-- --help]
 *
 * openapi-typescript needs TypeScript 5. Therefore it has a package of its own, scripts/openapi, which is installed when it is
 * missing or stale. The file records hashes of its inputs and of its text. A test compares them, so that it finds a stale file
 * without that package.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { withoutUnused } from '../src/hub/api/openapi/openapi-components.ts';
import { type JsonSchema, type OpenApiDocument, operationsOf } from '../src/hub/api/openapi/openapi-types.ts';
import { openApiDocument } from './openapi-document.ts';

const FILE = new URL('../src/cli/client/api.gen.ts', import.meta.url);
const PACKAGE = new URL('openapi/', import.meta.url);
const GENERATOR = new URL('node_modules/openapi-typescript/bin/cli.js', PACKAGE);
const OPTIONS = ['--root-types', '--root-types-no-schema-prefix', '--root-types-keep-casing'];

const HELP = `usage: npm run client-types
Generates src/cli/client/api.gen.ts from the OpenAPI document. Installs the packages of scripts/openapi first (npm ci), if they
are missing or do not match its lock file.`;

/** Tags of operations that users of the API do not call. */
const LEFT_OUT: ReadonlySet<string> = new Set(['listener protocol', 'health']);

/** Schemas of errors, which the CLI uses. The responses that refer to them are left out. */
const ERRORS: ReadonlySet<string> = new Set(['Error', 'FieldErrors']);

/** Keywords of a schema that determine a type. Without the others, a changed description does not make the file stale. */
const TYPE_KEYWORDS: ReadonlySet<string> = new Set([
  ...['$ref', 'type', 'const', 'enum', 'required'],
  ...['properties', 'additionalProperties', 'items', 'anyOf', 'oneOf', 'allOf'],
]);

function typesOf(schema: JsonSchema): JsonSchema {
  const entries = Object.entries(schema).filter(([keyword]) => TYPE_KEYWORDS.has(keyword));
  return Object.fromEntries(entries.map(([keyword, value]) => [keyword, typesWithin(keyword, value)]));
}

/** The value of a keyword, with `typesOf` applied to the schemas in it. */
function typesWithin(keyword: string, value: unknown): unknown {
  if (keyword === 'properties') return schemasOf(value as Record<string, JsonSchema>);
  if (keyword.endsWith('Of')) return (value as JsonSchema[]).map(typesOf);
  const isSchema = (keyword === 'items' || keyword === 'additionalProperties') && typeof value === 'object';
  return isSchema ? typesOf(value as JsonSchema) : value;
}

function schemasOf(schemas: Record<string, JsonSchema>): Record<string, JsonSchema> {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, typesOf(schema)]));
}

function contentOf(content: Record<string, { schema?: JsonSchema }> | undefined) {
  const schema = content?.['application/json']?.schema;
  return schema === undefined ? {} : { content: { 'application/json': { schema: typesOf(schema) } } };
}

/**
 * The part of the OpenAPI document that determines the types: the operations for users, with parameters, JSON bodies and
 * successful responses. All errors have one of two schemas, which are among the components. Schemas of other operations are left
 * out.
 */
export function typesDocument(document: OpenApiDocument): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const { method, path, operation } of operationsOf(document)) {
    const { operationId, tags, parameters = [], requestBody, responses } = operation;
    if (LEFT_OUT.has(tags?.[0] ?? '')) continue;
    const successes = Object.entries(responses).filter(([status]) => Number(status) < 400);
    paths[path] = {
      ...paths[path],
      [method]: {
        operationId,
        parameters: parameters.map(({ name, in: place, required, schema }) => ({
          ...{ name, in: place, required, schema: typesOf(schema) },
        })),
        ...(requestBody === undefined
          ? {}
          : { requestBody: { required: requestBody.required, ...contentOf(requestBody.content) } }),
        responses: Object.fromEntries(
          successes.map(([status, { content }]) => [status, { description: status, ...contentOf(content) }]),
        ),
      },
    };
  }
  const info = { title: document.info.title, version: 'any' };
  const schemas = schemasOf(document.components.schemas);
  const reachable = withoutUnused({ paths, components: { schemas } } as unknown as OpenApiDocument);
  const isKept = (name: string) => ERRORS.has(name) || name in reachable.components.schemas;
  const kept = Object.fromEntries(Object.entries(schemas).filter(([name]) => isKept(name)));
  return { openapi: document.openapi, info, paths, components: { schemas: kept } };
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

const textOf = (file: string) => readFileSync(new URL(file, PACKAGE), 'utf8');

/** The first lines of the file. @param types the rest of it */
export function header(document: OpenApiDocument, types: string): string {
  const inputs = [JSON.stringify(typesDocument(document)), textOf('package-lock.json'), OPTIONS.join(' ')];
  return [
    '// Generated by `npm run client-types` from the OpenAPI document. Do not edit. After a merge conflict, generate it again.',
    `// Inputs (document, scripts/openapi/package-lock.json, options): ${sha256(inputs.join('\n'))}`,
    `// Text below this line: ${sha256(types)}`,
    '',
  ].join('\n');
}

/** Whether the packages of scripts/openapi match its lock file. */
export function isGeneratorInstalled(): boolean {
  const packagesIn = (file: string): Record<string, unknown> => {
    try {
      return JSON.parse(textOf(file)).packages;
    } catch {
      return {};
    }
  };
  const { '': _project, ...wanted } = packagesIn('package-lock.json');
  return isDeepStrictEqual(packagesIn('node_modules/.package-lock.json'), wanted);
}

/** Installs the packages of scripts/openapi. @throws Error if npm fails */
export function installGenerator(): void {
  console.error('Installing the packages of scripts/openapi (npm ci) …');
  const args = ['ci', '--prefix', fileURLToPath(PACKAGE), '--ignore-scripts', '--loglevel=error'];
  const { status, error } = spawnSync('npm', args, { stdio: ['ignore', 2, 2] });
  if (status !== 0)
    throw new Error(
      `failed to install the packages of scripts/openapi: ${error?.message ?? `npm ended with ${status}`}; check that the package registry is reachable`,
    );
}

/** The text of src/cli/client/api.gen.ts. The packages of scripts/openapi must be installed. */
export function clientTypes(document: OpenApiDocument): string {
  const types = execFileSync(process.execPath, [fileURLToPath(GENERATOR), ...OPTIONS], {
    cwd: PACKAGE,
    input: JSON.stringify(typesDocument(document)),
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  return `${header(document, types)}${types}`;
}

if (import.meta.main) {
  if (process.argv.includes('--help')) console.log(HELP);
  else {
    try {
      if (!isGeneratorInstalled()) installGenerator();
      writeFileSync(FILE, clientTypes((await openApiDocument()) as OpenApiDocument));
    } catch (error) {
      console.error(error instanceof Error ? error.message : String(error));
      process.exitCode = 1;
    }
  }
}
