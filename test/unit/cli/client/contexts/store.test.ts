import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import {
  changeContexts,
  contextsPath,
  permissionWarning,
  readContexts,
  withContext,
} from '../../../../../src/cli/client/contexts/store.ts';
import { command, fakeApi } from '../fake-api.ts';

let configHome: string;
beforeEach(() => {
  configHome = mkdtempSync(join(tmpdir(), 'berth-store-'));
  return () => rmSync(configHome, { recursive: true, force: true });
});

const add = (name: string, url = 'https://one.example') =>
  changeContexts(configHome, (contexts) => withContext(contexts, name, { url, api_key: 'canary-5521' }));

test('keeps a context that another login stores while this one waits for the API', async () => {
  const { url } = await fakeApi(() => {
    add('other');
    return [200, {}];
  });
  const keyFile = join(configHome, 'key');
  writeFileSync(keyFile, 'canary-5521\n');
  const words = ['login', '--url', url, '--name', 'mine', '--key-file', keyFile];
  expect(await command(words, { configHome, apiKey: undefined })).toMatchObject({ code: 0 });
  expect(readContexts(configHome)).toMatchObject({ current: 'mine', contexts: { mine: { url }, other: {} } });
});

test('warns when other users may read the file', async () => {
  expect(permissionWarning(configHome)).toBeNull();
  const { url } = await fakeApi(() => [200, { resources: [], offset: 0 }]);
  add('one', url);
  expect(permissionWarning(configHome)).toBeNull();
  const run = () => command(['listeners', 'list'], { configHome, apiKey: undefined });
  expect(await run()).toMatchObject({ code: 0, err: '' });
  chmodSync(contextsPath(configHome), 0o640);
  const { code, err } = await run();
  expect(code).toBe(0);
  expect(err).toContain(`next: chmod 600 ${contextsPath(configHome)}`);
  expect(err).not.toContain('canary');
});
