/** The exit codes of `berth diff`, of which 1 means a difference. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { ClientSettings } from '../../../../../src/cli/command/host.ts';
import { processHost, runCli } from '../../../../../src/cli/run.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-diff-'));
  mkdirSync(join(folder, 'berth'));
  writeFileSync(
    join(folder, 'shop.yaml'),
    'name: shop\nsource: external_image\nsource_config: {}\nsource_revision_config: {image_uri: "a/b:1"}\n',
  );
  for (const stream of ['log', 'error'] as const) vi.spyOn(console, stream).mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

const unset = { url: undefined, apiKey: undefined, tenantId: undefined };

function run(name: string, settings: () => Promise<Partial<ClientSettings>>): Promise<number> {
  const words = [name, '-f', join(folder, 'shop.yaml')];
  const clientSettings = async () => ({ ...unset, configHome: folder, ...(await settings()) });
  return runCli(words, { ...processHost(words), clientSettings });
}

test.each([
  ['there is no context', '', 2, 2],
  ['the file of contexts is corrupt', '{"contexts": ', 2, 1],
  ['the file of contexts is not readable', null, 2, 1],
])('diff exits with another code than 1 when %s', async (_what, contexts, diff, apply) => {
  const path = join(folder, 'berth/contexts.json');
  // A folder with this name cannot be read, also as root.
  if (contexts === null) mkdirSync(path);
  else if (contexts !== '') writeFileSync(path, contexts);
  expect(await run('diff', async () => ({}))).toBe(diff);
  expect(await run('apply', async () => ({}))).toBe(apply);
});

test('diff exits with 3 after an unexpected error', async () => {
  const fail = () => Promise.reject(new Error('a bug'));
  expect(await run('diff', fail)).toBe(3);
  expect(await run('apply', fail)).toBe(1);
});

test('diff exits with 3 when the API is not reachable', async () => {
  expect(await run('diff', async () => ({ url: 'http://127.0.0.1:1', apiKey: 'key' }))).toBe(3);
});
