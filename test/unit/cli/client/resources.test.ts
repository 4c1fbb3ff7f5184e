/** Commands for resources against a server that answers like the API. */
import { expect, test } from 'vitest';
import { command, fakeApi } from './fake-api.ts';

test.each([
  [['tags', 'set', 'shop'], 'use --clear to remove all'],
  [['tags', 'set', 'shop', 'a=b', '--clear'], '--clear removes all tags'],
  [['tags', 'set', 'shop', 'a=b', '--yes'], '--yes needs --clear'],
  [['tags', 'set', 'shop', '--clear'], 'pass --yes'],
])('does not change tags when the command is ambiguous: %j', async (words, message) => {
  const { url, calls } = await fakeApi(() => [200, { resources: [{ id: 'a', name: 'shop' }], offset: 1 }]);
  const { code, err } = await command(words, { url });
  expect(code, err).toBe(2);
  expect(err).toContain(message);
  expect(calls.filter(({ line }) => line.startsWith('PUT'))).toEqual([]);
});

test('removes all tags with --clear', async () => {
  const { url, calls } = await fakeApi(({ line }) => [
    200,
    { resources: line.startsWith('GET') ? [{ id: 'a', name: 'shop' }] : [], offset: 0 },
  ]);
  expect(await command(['tags', 'set', 'shop', '--clear', '--yes'], { url })).toMatchObject({ code: 0 });
  expect(calls.at(-1)?.body).toEqual({ tag_value_ids: [] });
});

test('sends fractions of quotas as the API accepts them', async () => {
  const { url, calls } = await fakeApi(() => [201, { name: 'a', quotas: {}, quotas_in_force: {} }]);
  const quotas = [
    '--cpu',
    '2.5',
    '--memory-mb',
    '0.5',
    '--storage-gi',
    'none',
    '--deployments',
    '3',
    '--gpus',
    '8',
    '--domains',
    '4',
  ];
  expect(await command(['tenants', 'create', 'a', ...quotas], { url })).toMatchObject({ code: 0 });
  expect(calls[0]?.body).toEqual({
    name: 'a',
    quotas: { cpu: 2.5, memory_mb: 0.5, storage_gi: null, deployments: 3, gpus: 8, domains: 4 },
  });
});

test('prints the id of a key with -o name, because several keys can have its name', async () => {
  const key = { id: 'id-1', name: 'ci', prefix: 'a', scopes: [] };
  const { url } = await fakeApi(() => [200, { resources: [key], offset: 1 }]);
  expect(await command(['api-keys', 'get', 'ci', '-o', 'name'], { url })).toMatchObject({ out: 'id-1\n' });
});
