/** `berth secrets`, as a user calls it, against a running API without a cluster. */
import { expect, test } from 'vitest';
import { hasTmux, terminal } from './cli.ts';
import { api, client, env, file, one, run, usesApi, yaml } from './user.ts';

usesApi();

const valuesOf = async () =>
  Object.fromEntries((await one('shop')).secrets.map(({ name, value }) => [name, value]));

test('secrets set and unset change single secrets, without a value in the output', async () => {
  await run(0, ['apply', '-f', '-'], {}, yaml('shop', 'secrets: [{name: KEPT, value: canary-kept}]'));
  // This key cannot read secrets.
  const { key } = await api.client(client.tenantId, ['deployments:read', 'deployments:write']);
  const own = { BERTH_API_KEY: key };
  const path = file('.env', 'FROM_FILE="canary\nfile" # comment\nOTHER=canary-other\n');
  const ended = [
    await run(0, ['secrets', 'set', 'shop', 'TOKEN'], own, 'canary-token\n'),
    await run(0, ['secrets', 'set', 'shop', 'A=canary=a', '--from-file', path], own),
    await run(0, ['secrets', 'unset', 'shop', 'OTHER', 'MISSING'], own),
  ];
  for (const { out, err } of ended) expect(out + err).not.toContain('canary');
  expect(ended[2]).toMatchObject({ out: 'NAME\nA\nFROM_FILE\nKEPT\nTOKEN\n', err: 'MISSING is not set\n' });
  expect(await valuesOf()).toEqual({
    KEPT: 'canary-kept',
    TOKEN: 'canary-token',
    A: 'canary=a',
    FROM_FILE: 'canary\nfile',
  });
  const { generation } = await one('shop');
  expect((await run(0, ['secrets', 'set', 'shop', 'A=canary=a', '-o', 'name'], own)).err).toBe(
    'nothing changed: the secrets already have these values\n',
  );
  expect((await one('shop')).generation).toBe(generation);
});

test('secrets set rejects wrong usage without a value in the message', async () => {
  await run(0, ['apply', '-f', '-'], {}, yaml('shop'));
  for (const [words, input] of [
    [['secrets', 'set', 'shop'], ''],
    [['secrets', 'set', 'shop', '=canary'], ''],
    [['secrets', 'set', 'shop', 'A', 'B'], 'canary'],
    [['secrets', 'set', 'shop', 'A'], ''],
    [['secrets', 'set', 'shop', 'A', '--from-file', '-'], 'B=canary'],
    [['secrets', 'set', 'shop', '--from-file', '-'], 'canary'],
  ] as const) {
    const { err } = await run(2, words, {}, input);
    expect(err).toMatch(/^berth: .+; see berth secrets set --help\n$/);
    expect(err).not.toContain('canary');
  }
  expect(await valuesOf()).toEqual({});
});

test.skipIf(!hasTmux)(
  'secrets set reads values without echo in a terminal',
  async () => {
    await run(0, ['apply', '-f', '-'], {}, yaml('shop'));
    const { type, press, screen } = terminal(['secrets', 'set', 'shop', 'A', 'B'], env);
    for (const name of ['A', 'B']) {
      await expect.poll(screen, { timeout: 20_000 }).toMatch(new RegExp(`^${name}:`, 'm'));
      type(`canary-${name}`);
      press('Enter');
    }
    await expect.poll(screen, { timeout: 20_000 }).toContain('exit code 0');
    expect(screen()).not.toContain('canary');
    expect(await valuesOf()).toEqual({ A: 'canary-A', B: 'canary-B' });
  },
  60_000,
);
