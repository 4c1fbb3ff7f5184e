/** oapi-codegen (Go) reads the document as OpenAPI 3.0.3. */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openApiDocument } from '../../../scripts/openapi-document.ts';
import { toOpenApi30 } from '../../../src/hub/api/openapi/openapi-3-0.ts';
import type { OpenApiDocument } from '../../../src/hub/api/openapi/openapi-types.ts';
import { GO_MODULE, goClientPrograms } from '../../clients/generators.ts';
import { runProgram } from '../../cluster/python-venv.ts';

const INSTALL_MS = 400_000;
const COMPILE_MS = 300_000;

let folder: string;
let programs: Awaited<ReturnType<typeof goClientPrograms>>;
beforeAll(async () => {
  programs = await goClientPrograms();
  folder = mkdtempSync(join(tmpdir(), 'berth-go-'));
  for (const file of ['go.mod', 'go.sum']) copyFileSync(join(GO_MODULE, file), join(folder, file));
  mkdirSync(join(folder, 'client'));
  const document = toOpenApi30((await openApiDocument()) as OpenApiDocument);
  writeFileSync(join(folder, 'openapi-3.0.json'), JSON.stringify(document));
}, INSTALL_MS);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test(
  'the types and the client that oapi-codegen generates compile',
  async () => {
    const options = ['-generate', 'types,client', '-package', 'client', '-o', 'client/client.go'];
    const generated = await runProgram(programs.codegen, [...options, 'openapi-3.0.json'], { cwd: folder });
    expect(generated, generated.output).toMatchObject({ code: 0 });
    expect(generated.output).not.toMatch(/warning/i);
    const env = { ...process.env, GOWORK: 'off', GOFLAGS: '-mod=readonly' };
    const built = await runProgram(programs.go, ['build', './client'], { cwd: folder, env });
    expect(built, built.output).toMatchObject({ code: 0 });
  },
  COMPILE_MS,
);
