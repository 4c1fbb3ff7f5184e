/** openapi-python-client (PyPI) and the client that it generates from a running Berth. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { noPythonReason, pythonClientPrograms } from '../../clients/generators.ts';
import { runProgram } from '../../cluster/python-venv.ts';
import { startWholeBerth, type WholeBerth } from '../harness/berth.ts';

const SCRIPT = fileURLToPath(new URL('../../clients/python_client.py', import.meta.url));
const INSTALL_MS = 400_000;

const reason = await noPythonReason();
if (reason !== null) console.warn(`the Python client is not tested: ${reason}`);

let berth: WholeBerth;
let programs: string;
let folder: string;
let env: NodeJS.ProcessEnv;
beforeAll(async () => {
  if (reason !== null) return;
  programs = await pythonClientPrograms();
  berth = await startWholeBerth('python');
  folder = mkdtempSync(join(tmpdir(), 'berth-python-'));
  // The generator formats its output with ruff, which it finds in the PATH.
  env = { PATH: [programs, process.env['PATH']].join(delimiter), PYTHONPATH: folder, NO_COLOR: '1' };
}, INSTALL_MS);
afterAll(async () => {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  await berth?.stop();
});

test.skipIf(reason !== null)(
  'openapi-python-client generates all operations but one stream, and its client creates, polls, patches, lists and deletes a deployment',
  async () => {
    const url = berth.process().url;
    const output = ['--meta', 'none', '--output-path', join(folder, 'berth_client')];
    const generated = await runProgram(
      join(programs, 'openapi-python-client'),
      ['generate', '--url', new URL('/openapi.json', url).href, ...output],
      { env },
    );
    expect(generated.code, generated.output).toBe(0);
    // It has no streams. Other operations that stream can respond with JSON, too.
    const warnings = generated.output.split('\n').filter((line) => /warning|skipping|unable/i.test(line));
    expect(warnings, generated.output).toEqual([
      expect.stringContaining('Warning(s) encountered while generating'),
      'WARNING parsing GET /v2/watch within events.',
    ]);
    const used = await runProgram(join(programs, 'python'), [SCRIPT], {
      env: { ...env, BERTH_URL: url, BERTH_API_KEY: berth.apiKey, BERTH_TENANT_ID: berth.tenantId },
    });
    expect(used.code, used.output).toBe(0);
    expect(used.output).toContain('created, polled, patched, listed and deleted');
  },
  300_000,
);
