/** `berth apply` and `berth diff`, as a user calls them, against a running API without a cluster. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Deployment } from '../harness/api.ts';
import { hasTmux, terminal } from './cli.ts';
import { client, deployments, env, file, folder, one, proxy, run, usesApi, yaml } from './user.ts';

usesApi();

const eventsOf = async ({ id }: Deployment) =>
  (await client.call<{ resources: unknown[] }>('GET', `/v2/deployments/${id}/events`)).body.resources.length;

test('apply creates deployments, changes nothing the second time, and then changes only what differs', async () => {
  const path = file('shop.yaml', `${yaml('shop', 'tags: {team: payments}')}---\n${yaml('web')}`);
  expect((await run(1, ['diff', '-f', path])).out).toMatch(
    /^shop: does not exist\n {2}name: not set → "shop"\n[\s\S]* {2}tags\.team: not set → "payments"\nweb: does not exist$/m,
  );
  const planned = await run(0, ['apply', '-f', path, '--dry-run']);
  expect(planned.out).toMatch(/^NAME +RESULT +ROLLS +CHANGES\nshop +would be created +– +–$/m);
  expect(await deployments()).toEqual([]);

  const first = await run(0, ['apply', '-f', path]);
  expect(first.out).toMatch(/^NAME +RESULT +CHANGES\nshop +created +–\nweb +created +–$/m);
  const before = await one('shop');
  const events = await eventsOf(before);
  const again = await run(0, ['apply', '-f', path]);
  expect(again.out).toMatch(/^shop +unchanged +–\nweb +unchanged +–$/m);
  expect(again.err).toBe('nothing to change: the deployments already equal the files\n');
  expect(await one('shop')).toEqual(before);
  expect(await eventsOf(before)).toBe(events);
  expect((await run(0, ['diff', '-f', path])).out).toBe('shop: no difference\nweb: no difference\n');
  expect((await run(0, ['diff', '-f', path, '-o', 'name'])).out).toBe('');

  file('shop.yaml', `${yaml('shop', 'tags: {team: search}', '1.1.0')}---\n${yaml('web')}`);
  const differs = await run(1, ['diff', '-f', path]);
  expect(differs.out).toBe(`shop: 2 fields differ
  source_revision_config.image_uri: "registry.example/shop/web:1.0.0" → "registry.example/shop/web:1.1.0"
  tags.team: "payments" → "search"
web: no difference
`);
  const fields = 'source_revision_config\\.image_uri, tags\\.team';
  expect((await run(0, ['apply', '-f', path, '--dry-run'])).out).toMatch(
    new RegExp(`^shop +would be changed +api +${fields}$`, 'm'),
  );
  const changed = JSON.parse((await run(0, ['apply', '-f', path, '-o', 'json'])).out) as unknown[];
  expect(changed).toMatchObject([
    {
      name: 'shop',
      id: before.id,
      result: 'changed',
      changes: [{ field: 'source_revision_config.image_uri' }, { field: 'tags.team' }],
    },
    { name: 'web', result: 'unchanged', changes: [] },
  ]);
  expect((await one('shop')).image_version).toBe('1.1.0');
  await run(0, ['diff', '-f', path]);
}, 120_000);

test('apply reads a folder in the order of the names, and standard input', async () => {
  const path = join(folder, 'all');
  mkdirSync(path);
  file('all/2.yml', yaml('second'));
  file('all/1.yaml', yaml('first'));
  file(
    'all/3.json',
    JSON.stringify({
      name: 'third',
      source: 'external_image',
      source_config: {},
      source_revision_config: { image_uri: 'registry.example/a:1' },
    }),
  );
  file('all/notes.txt', 'not a document');
  const applied = await run(0, ['apply', '-f', path, '-o', 'name']);
  expect(applied.out).toBe('first\nsecond\nthird\n');
  expect((await run(0, ['apply', '-f', '-'], {}, yaml('first'))).out).toMatch(/^first +unchanged/m);
  mkdirSync(join(folder, 'empty'));
  expect((await run(2, ['apply', '-f', join(folder, 'empty')])).err).toContain('contains no files *.yaml');
  expect((await run(2, ['diff', '-f', join(folder, 'missing')])).err).toMatch(
    /^berth: failed to read .+; see berth diff --help$/m,
  );
});

test('apply and diff report invalid documents with file, number and field before they change anything', async () => {
  const path = file('all.yaml', `${yaml('good')}---\n${yaml('bad', 'replicas: 2')}`);
  for (const command of ['apply', 'diff'])
    expect((await run(2, [command, '-f', path])).err).toContain(
      `berth: ${path}: document 2 (bad): replicas: is not a known field`,
    );
  // Only the API knows these rules.
  file('all.yaml', `${yaml('good')}---\n${yaml('bad').replace('0.5', '-1')}`);
  for (const command of ['apply', 'diff'])
    expect((await run(2, [command, '-f', path])).err).toContain(
      `berth: ${path}: document 2 (bad): source_config.resource_spec.cpu: `,
    );
  expect(await deployments()).toEqual([]);
  const offline = { BERTH_URL: 'http://127.0.0.1:1' };
  await run(3, ['diff', '-f', file('good.yaml', yaml('good'))], offline);
  expect((await run(2, ['diff', '-f', join(folder, 'good.yaml')], { BERTH_API_KEY: 'wrong' })).err).toContain(
    '401',
  );
});

test('secrets come from the environment and from files, are masked, and are kept when they are absent', async () => {
  const path = file(
    'shop.yaml',
    yaml(
      'shop',
      'secrets:\n- {name: A, value_from: {env: SHOP_A}}\n- {name: B, value_from: {file: b.txt}}\n',
    ),
  );
  file('b.txt', 'canary-b\n');
  expect((await run(2, ['apply', '-f', path])).err).toContain(
    `document 1 (shop): secrets[0].value_from: the variable SHOP_A is not set`,
  );
  const ended = [
    await run(0, ['apply', '-f', path], { SHOP_A: 'canary-a' }),
    await run(0, ['apply', '-f', path, '-o', 'json'], { SHOP_A: 'canary-a' }),
    await run(1, ['diff', '-f', path], { SHOP_A: 'canary-a2' }),
    await run(1, ['diff', '-f', path, '-o', 'yaml'], { SHOP_A: 'canary-a2' }),
  ];
  for (const { out, err } of ended) expect(out + err).not.toContain('canary');
  expect(ended[2]?.out).toBe('shop: 1 field differs\n  secrets.A: the value differs\n');
  const stored = [
    { name: 'A', value: 'canary-a' },
    { name: 'B', value: 'canary-b' },
  ];
  expect((await one('shop')).secrets).toEqual(stored);
  file('shop.yaml', yaml('shop', '', '2.0.0'));
  expect((await run(0, ['apply', '-f', path])).out).toMatch(
    /^shop +changed +source_revision_config\.image_uri$/m,
  );
  expect((await one('shop')).secrets).toEqual(stored);
});

test('apply keeps a concurrent change, and reports who changed what', async () => {
  const path = file('shop.yaml', yaml('shop'));
  await run(0, ['apply', '-f', path]);
  const { id } = await one('shop');
  file('shop.yaml', yaml('shop', '', '2.0.0'));
  const through = await proxy(async ({ method, url: target = '' }) => {
    if (method === 'PUT' && !target.includes('dry_run=true'))
      await client.call('PATCH', `/v2/deployments/${id}`, { source_config: { resource_spec: { cpu: 1 } } });
    return false;
  });
  const ended = await run(1, ['apply', '-f', path], { BERTH_URL: through });
  expect(ended.out).toMatch(/^shop +failed/m);
  expect(ended.err).toContain('berth: shop was not changed, because another client changed it meanwhile:\n');
  expect(ended.err).toMatch(/^ {2}\S+ Patched by \S.*: Changed: source_config\.resource_spec\.cpu/m);
  expect(ended.err).toContain('  source_config.resource_spec.cpu: 0.5 → 1\n');
  expect(await one('shop')).toMatchObject({
    image_version: '1.0.0',
    source_config: { resource_spec: { cpu: 1 } },
  });
});

test('apply does not change a deployment that another client creates meanwhile', async () => {
  const path = file('shop.yaml', yaml('shop', '', '2.0.0'));
  const through = await proxy(async ({ method, url: target = '' }) => {
    if (method === 'PUT' && !target.includes('dry_run=true'))
      await run(0, ['apply', '-f', '-'], {}, yaml('shop'));
    return false;
  });
  const ended = await run(1, ['apply', '-f', path], { BERTH_URL: through });
  expect(ended.err).toMatch(/another client changed it meanwhile:\n {2}it was created at /);
  expect((await one('shop')).image_version).toBe('1.0.0');
});

describe('apply --prune', () => {
  test('deletes only deployments with the tag that no document describes, after a confirmation', async () => {
    const tagged = (name: string) => yaml(name, 'tags: {app: shop}');
    const path = file('all.yaml', [...['a', 'b', 'c'].map(tagged), yaml('other')].join('---\n'));
    await run(0, ['apply', '-f', path]);
    file('all.yaml', `${tagged('a')}---\n${yaml('c')}`);
    const prune = ['apply', '-f', path, '-l', 'app=shop', '--prune'];

    const planned = await run(0, [...prune, '--dry-run']);
    expect(planned.err).toContain('skipped c: it does not have the tags of -l\n');
    expect(planned.err).toMatch(/^ {2}b, with its database of \d+ GiB$/m);
    expect(planned.out).toMatch(/^a +unchanged +– +–\nb +would be deleted +– +–$/m);
    expect((await run(2, prune)).err).toContain('pass --yes');
    expect((await deployments()).map(({ status }) => status)).not.toContain('AWAITING_DELETE');

    const ended = await run(0, [...prune, '--yes']);
    expect(ended.out).toMatch(/^a +unchanged +–\nb +deleted +–$/m);
    const deleted = (await deployments()).filter(({ status }) => status === 'AWAITING_DELETE');
    expect(deleted.map(({ name }) => name)).toEqual(['b']);
    await run(0, ['restore', 'b']);
    expect((await run(0, [...prune, '--yes', '-o', 'name'])).out).toBe('a\nb\n');
    // Nothing is left to delete, so there is no question.
    expect((await run(0, prune)).out).toMatch(/^NAME +RESULT +CHANGES\na +unchanged +–\n$/);
  }, 120_000);

  test('needs a tag, and deletes nothing when no document has it or a document fails', async () => {
    const path = file('a.yaml', yaml('a', 'tags: {app: shop}'));
    await run(0, ['apply', '-f', path]);
    file('a.yaml', yaml('b'));
    expect((await run(2, ['apply', '-f', path, '--prune', '--yes'])).err).toContain('--prune needs -l');
    expect((await run(2, ['apply', '-f', path, '--prune', '--yes', '-l', 'app=shop'])).err).toContain(
      'no document has the tags of -l',
    );
    file('a.yaml', yaml('b', 'tags: {app: shop}'));
    const through = await proxy(({ method, url: target = '' }, response) => {
      const isWrite = method === 'PUT' && !target.includes('dry_run=true');
      if (isWrite) response.writeHead(409, { 'content-type': 'application/json' }).end('{"detail":"no"}');
      return isWrite;
    });
    const failed = await run(1, ['apply', '-f', path, '--prune', '--yes', '-l', 'app=shop'], {
      BERTH_URL: through,
    });
    expect(failed.err).toContain('nothing was deleted, because of the failure\n');
    expect(await deployments()).toMatchObject([{ name: 'a', status: 'AWAITING_DATABASE' }]);
  });
});

test('apply reports tags that another client has changed, and keeps tags that are absent', async () => {
  const path = file('shop.yaml', yaml('shop', 'tags: {team: [a, b]}'));
  await run(0, ['apply', '-f', path]);
  file('shop.yaml', yaml('shop'));
  expect((await run(0, ['apply', '-f', path])).out).toMatch(/^shop +unchanged/m);
  await run(0, ['tags', 'set', 'shop', 'team=a']);
  file('shop.yaml', yaml('shop', 'tags: {}'));
  const { id } = await one('shop');
  let reads = 0;
  const through = await proxy(async ({ method, url: target = '' }) => {
    if (method === 'GET' && target.endsWith('/tag-values') && ++reads === 2)
      await client.call('PUT', `/v2/deployments/${id}/tag-values`, { tag_value_ids: [] });
    return false;
  });
  const ended = await run(1, ['apply', '-f', path], { BERTH_URL: through });
  expect(ended.err).toContain('another client changed it meanwhile:\n');
  expect(ended.err).toContain('The tag values were changed.');
});

test('apply says what was written when the API rejects the tags, and writes the rest when it runs again', async () => {
  const path = file('shop.yaml', yaml('shop', 'tags: {team: a}'));
  const through = await proxy(({ method, url: target = '' }, response) => {
    const isRejected = method === 'PUT' && target.endsWith('/tag-values');
    if (isRejected) response.writeHead(403, { 'content-type': 'application/json' }).end('{"detail":"no"}');
    return isRejected;
  });
  const ended = await run(1, ['apply', '-f', path], { BERTH_URL: through });
  expect(ended.err).toContain('shop: the fields were written, but not the tags\n');
  expect(ended.out).toMatch(/^shop +failed/m);
  expect((await one('shop')).image_version).toBe('1.0.0');
  expect((await run(0, ['apply', '-f', path])).out).toMatch(/^shop +changed +tags\.team$/m);
});

test('apply --wait waits for every deployment, also for unchanged ones', async () => {
  const path = file('shop.yaml', yaml('shop'));
  await run(0, ['apply', '-f', path]);
  const ended = await run(1, ['apply', '-f', path, '--wait', '--timeout', '1']);
  expect(ended.err).toContain('timed out: not settled after');
  expect(ended.out).toMatch(/^shop +unchanged/m);
  await run(2, ['apply', '-f', path, '--wait', '--dry-run']);
  expect((await run(2, ['apply', '-f', path, '--prune', '-l', 'a=b', '--dry-run', '--yes'])).err).toContain(
    '--dry-run asks nothing, so it cannot be combined with --yes',
  );
});

describe.skipIf(!hasTmux)('apply --prune in a terminal', () => {
  test.each([
    ['n', 130, 'a'],
    ['y', 0, 'b'],
  ])(
    'asks before it changes anything, and takes %j for an answer',
    async (answer, code, left) => {
      const tags = 'tags: {app: shop}';
      await run(0, ['apply', '-f', '-'], {}, yaml('a', tags));
      const path = file('b.yaml', yaml('b', tags));
      const { type, press, screen } = terminal(['apply', '-f', path, '-l', 'app=shop', '--prune'], env);
      await expect
        .poll(screen, { timeout: 20_000 })
        .toContain('Apply the files and delete this deployment? [y/N]');
      expect(screen()).toMatch(/^ {2}a, with its database of \d+ GiB$/m);
      expect((await deployments()).map(({ name }) => name)).toEqual(['a']);
      type(answer);
      press('Enter');
      await expect.poll(screen, { timeout: 20_000 }).toContain(`exit code ${code}`);
      if (code === 130) expect(screen()).toContain('berth: nothing was changed');
      const live = (await deployments()).filter(({ status }) => status !== 'AWAITING_DELETE');
      expect(live.map(({ name }) => name)).toEqual([left]);
    },
    60_000,
  );
});
