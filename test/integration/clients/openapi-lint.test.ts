/** Redocly's linter, with the configuration that docs/api.md names. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isGeneratorInstalled } from '../../../scripts/client-types.ts';
import { openApiDocument } from '../../../scripts/openapi-document.ts';
import { toOpenApi30 } from '../../../src/hub/api/openapi/openapi-3-0.ts';
import type { OpenApiDocument } from '../../../src/hub/api/openapi/openapi-types.ts';
import { runProgram } from '../../cluster/python-venv.ts';

const LINTER = fileURLToPath(
  new URL('../../../scripts/openapi/node_modules/@redocly/cli/bin/cli.js', import.meta.url),
);
const CONFIG = fileURLToPath(new URL('../../../scripts/openapi/lint.yaml', import.meta.url));
const isInstalled = isGeneratorInstalled();
if (!isInstalled)
  console.warn('the document is not linted: npm run client-types installs the packages of scripts/openapi');

/** The linter needs five seconds on an idle machine. */
const LINT_MS = 300_000;

let folder: string;
let document: OpenApiDocument;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-lint-'));
  document = (await openApiDocument()) as OpenApiDocument;
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Everything that the linter reports, as lines. */
async function problemsOf(linted: OpenApiDocument): Promise<string[]> {
  const file = join(folder, 'openapi.json');
  writeFileSync(file, JSON.stringify(linted));
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const { output } = await runProgram(
    process.execPath,
    [LINTER, 'lint', file, '--config', CONFIG, '--format', 'json'],
    { env, cwd: folder },
  );
  const report = JSON.parse(output.slice(output.indexOf('{'), output.lastIndexOf('}') + 1)) as {
    problems: { ruleId: string; message: string; location: { pointer: string }[] }[];
  };
  return report.problems.map(
    ({ ruleId, message, location: [place] }) => `${ruleId}: ${message} (${place?.pointer})`,
  );
}

test.skipIf(!isInstalled)(
  'the document has no error and no warning as OpenAPI 3.1',
  async () => {
    expect(await problemsOf(document)).toEqual([]);
  },
  LINT_MS,
);

test.skipIf(!isInstalled)(
  'the document has no error and no warning as OpenAPI 3.0.3',
  async () => {
    expect(await problemsOf(toOpenApi30(document))).toEqual([]);
  },
  LINT_MS,
);

test('docs/api.md names the configuration', () => {
  const page = readFileSync(new URL('../../../docs/api.md', import.meta.url), 'utf8');
  expect(page).toContain('`redocly lint "$BERTH_URL/openapi.json" --config scripts/openapi/lint.yaml`');
});

test.skipIf(!isInstalled)('the linter reports a reference that does not resolve', async () => {
  const { info } = document;
  const schemas = { A: { $ref: '#/components/schemas/B' } };
  const broken = { openapi: '3.1.0', info, paths: {}, components: { schemas, securitySchemes: {} } };
  expect((await problemsOf(broken)).join('\n')).toContain('no-unresolved-refs');
});
