/** `berth services`, as a user calls it, against a running API without a cluster. */
import { expect, test } from 'vitest';
import { one, run, usesApi, yaml } from './user.ts';

usesApi();

const configOf = async () => (await one('shop')).source_config;

test('services disable and enable switch the database and the cache, and print what happens', async () => {
  await run(0, ['apply', '-f', '-'], {}, yaml('shop'));
  const off = await run(0, ['services', 'disable', 'shop', 'database', 'cache']);
  expect(off.err).toContain('Its volume (10 GiB) is kept');
  expect(off.err).toContain('The cache is switched off');
  expect(off.out).toMatch(/^database +no /m);
  expect(await configOf()).toMatchObject({ database: { enabled: false }, cache: { enabled: false } });
  const again = await run(0, ['services', 'disable', 'shop', 'cache']);
  expect(again.err).toContain('nothing changed');
  const listed = await run(0, ['services', 'list', 'shop', '-o', 'json']);
  expect(JSON.parse(listed.out)).toMatchObject([
    { service: 'database', enabled: false },
    { service: 'cache', enabled: false },
  ]);
  const on = await run(0, ['services', 'enable', 'shop', 'database']);
  expect(on.err).toContain('The database starts with the volume that was kept (10 GiB).');
  expect(await configOf()).toMatchObject({ database: { enabled: true }, cache: { enabled: false } });
});

test('services disable --remove-volume says what is deleted, and deletes nothing without an answer', async () => {
  await run(0, ['apply', '-f', '-'], {}, yaml('shop'));
  const asked = await run(2, ['services', 'disable', 'shop', 'database', '--remove-volume']);
  expect(asked.err).toContain('The volume of the database (10 GiB) is deleted with all its data');
  expect(asked.err).toContain('pass --yes');
  expect(await configOf()).not.toHaveProperty('database');
  await run(0, ['services', 'disable', 'shop', 'database', '--remove-volume', '--yes']);
  expect(await configOf()).toMatchObject({ database: { enabled: false, remove_volume: true } });
  expect((await run(0, ['deployments', 'get', 'shop'])).out).toMatch(
    /^Database: +off, its volume is removed$/m,
  );
});

test('services rejects other services, and a volume of the cache', async () => {
  expect((await run(2, ['services', 'disable', 'shop', 'queue'])).err).toContain('database, cache');
  const wrong = await run(2, ['services', 'disable', 'shop', 'cache', '--remove-volume']);
  expect(wrong.err).toContain('--remove-volume is about the database');
});
