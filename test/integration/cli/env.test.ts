/** `berth env`, as a user calls it, against a running API without a cluster. */
import { expect, test } from 'vitest';
import { client, file, one, run, usesApi, yaml } from './user.ts';

usesApi();

const stored = async () => (await one('shop')).source_revision_config['env'] ?? [];

test('env set, list and unset change single variables, in their order', async () => {
  await run(0, ['apply', '-f', '-'], {}, yaml('shop', 'secrets: [{name: TOKEN, value: canary}]'));
  const path = file('variables.env', 'LOG_LEVEL=info # comment\n');
  await run(0, ['env', 'set', 'shop', 'DATABASE_URL=$(DATABASE_URI)']);
  const set = await run(0, ['env', 'set', 'shop', 'A=x=y', '--from-file', path]);
  expect(set.out.split('\n').map((line) => line.split(/\s+/))).toEqual([
    ['NAME', 'VALUE'],
    ['DATABASE_URL', '$(DATABASE_URI)'],
    ['LOG_LEVEL', 'info'],
    ['A', 'x=y'],
    [''],
  ]);
  const { generation, latest_revision_id: latest } = await one('shop');
  const again = await run(0, ['env', 'set', 'shop', 'LOG_LEVEL=info', '-o', 'name']);
  expect(again).toMatchObject({
    out: 'DATABASE_URL\nLOG_LEVEL\nA\n',
    err: 'nothing changed: the variables already have these values\n',
  });
  expect(await one('shop')).toMatchObject({ generation, latest_revision_id: latest });
  const unset = await run(0, ['env', 'unset', 'shop', 'LOG_LEVEL', 'MISSING', '-o', 'json']);
  expect(unset.err).toBe('MISSING is not set\n');
  expect(JSON.parse(unset.out)).toEqual(await stored());
  expect(await stored()).toEqual([
    { name: 'DATABASE_URL', value: '$(DATABASE_URI)' },
    { name: 'A', value: 'x=y' },
  ]);
  expect((await one('shop')).latest_revision_id).not.toBe(latest);
  expect((await run(0, ['env', 'list', 'shop'])).out).toContain('$(DATABASE_URI)');
  const shown = (await run(0, ['deployments', 'get', 'shop'])).out;
  expect(shown).toMatch(/^Env: +DATABASE_URL=\$\(DATABASE_URI\), A=x=y$/m);
  expect(shown).not.toMatch(/^(Port|Commands):/m);
});

test('env set notes a reference to a variable that is not earlier in the list', async () => {
  await run(0, ['apply', '-f', '-'], {}, yaml('shop'));
  await run(0, ['env', 'set', 'shop', 'URL=http://$(HOST)']);
  const { err } = await run(0, ['env', 'set', 'shop', 'HOST=a']);
  expect(err).toContain(
    'URL contains $(HOST), which is not replaced, because HOST is not earlier in the list',
  );
  await run(0, ['env', 'unset', 'shop', 'URL']);
  expect((await run(0, ['env', 'set', 'shop', 'URL=http://$(HOST)'])).err).not.toContain('is not replaced');
});

test('env set of two commands at once keeps the variables of both', async () => {
  await run(0, ['apply', '-f', '-'], {}, yaml('shop'));
  await Promise.all(['A=1', 'B=2', 'C=3'].map((word) => run(0, ['env', 'set', 'shop', word])));
  expect((await stored()) as object[]).toHaveLength(3);
});

test('env set fails with the field when the name is that of a secret or reserved, and with usage when a value is missing', async () => {
  await run(0, ['apply', '-f', '-'], {}, yaml('shop', 'secrets: [{name: TOKEN, value: canary}]'));
  const shared = await run(1, ['env', 'set', 'shop', 'TOKEN=1']);
  expect(shared.err).toContain('source_revision_config.env[0].name');
  expect(shared.err).toContain("there is a secret 'TOKEN'");
  expect((await run(1, ['env', 'set', 'shop', 'PORT=1'])).err).toContain('reserved');
  for (const words of [['A'], ['=1'], []])
    expect((await run(2, ['env', 'set', 'shop', ...words])).err).toMatch(/see berth env set --help\n$/);
  expect(await stored()).toEqual([]);
});

test('diff shows variables and commands field by field, and apply makes them equal to the file', async () => {
  const document = (settings: string) =>
    `name: shop\nsource: external_image\nsource_config: {}\nsource_revision_config: {image_uri: "registry.example.com/shop:1", ${settings}}\n`;
  await run(0, ['apply', '-f', '-'], {}, document('port: 80, env: [{name: A, value: "1"}]'));
  const next = document('env: [{name: A, value: "2"}], commands: {queue: {args: [work]}}');
  const { out } = await run(1, ['diff', '-f', '-'], {}, next);
  for (const field of ['port', 'env.A', 'commands.queue'])
    expect(out).toContain(`source_revision_config.${field}`);
  await run(0, ['apply', '-f', '-'], {}, next);
  await run(0, ['diff', '-f', '-'], {}, next);
  const answer = await client.call<{ resources: { effective_resource_spec: object }[] }>(
    'GET',
    '/v2/deployments?name=shop',
  );
  expect(answer.body.resources[0]?.effective_resource_spec).toMatchObject({ queue_max_scale: 1 });
});
