/** `berth references`, as a user calls it, against a running API without a cluster. */
import { expect, test } from 'vitest';
import { one, run, usesApi, yaml } from './user.ts';

usesApi();

const stored = async () => (await one('shop'))['secret_references'];

test('references set, list and unset change single references, in their order', async () => {
  await run(0, ['apply', '-f', '-'], {}, yaml('shop', 'secrets: [{name: TOKEN, value: canary}]'));
  await run(0, ['references', 'set', 'shop', 'STRIPE_KEY=payments/api-key']);
  const set = await run(0, [
    'references',
    'set',
    'shop',
    'SMTP=mail/password',
    'STRIPE_KEY=payments/new.key',
  ]);
  expect(set.out.split('\n').map((line) => line.split(/\s+/))).toEqual([
    ['NAME', 'SECRET', 'KEY'],
    ['STRIPE_KEY', 'payments', 'new.key'],
    ['SMTP', 'mail', 'password'],
    [''],
  ]);
  const { generation } = await one('shop');
  const again = await run(0, ['references', 'set', 'shop', 'SMTP=mail/password', '-o', 'name']);
  expect(again).toMatchObject({
    out: 'STRIPE_KEY\nSMTP\n',
    err: 'nothing changed: the references are already the same\n',
  });
  expect(await one('shop')).toMatchObject({ generation, secrets: [{ name: 'TOKEN' }] });
  const shown = (await run(0, ['deployments', 'get', 'shop'])).out;
  expect(shown).toMatch(/^Secret references: +STRIPE_KEY=payments\/new\.key, SMTP=mail\/password$/m);
  const unset = await run(0, ['references', 'unset', 'shop', 'STRIPE_KEY', 'MISSING', '-o', 'json']);
  expect(unset.err).toBe('MISSING is not set\n');
  expect(JSON.parse(unset.out)).toEqual(await stored());
  await run(0, ['references', 'unset', 'shop', 'SMTP']);
  expect(await stored()).toBeUndefined();
  expect((await run(0, ['references', 'list', 'shop'])).out.trim()).not.toContain('SMTP');
});

test('references set fails with the field when the name is taken, and with usage for another form', async () => {
  await run(0, ['apply', '-f', '-'], {}, yaml('shop', 'secrets: [{name: TOKEN, value: canary}]'));
  const shared = await run(1, ['references', 'set', 'shop', 'TOKEN=payments/api-key']);
  expect(shared.err).toContain('secret_references[0].name');
  for (const words of [['A'], ['A=b'], ['A=b/'], ['=b/c'], ['A=b/c/d'], ['A=b/c', 'A=d/e'], []])
    expect((await run(2, ['references', 'set', 'shop', ...words])).err).toMatch(
      /see berth references set --help\n$/,
    );
});

test('diff shows references one by one, and apply makes them equal to the file', async () => {
  const references = (text: string) => yaml('shop', `secret_references: ${text}`);
  await run(0, ['apply', '-f', '-'], {}, references('[{name: A, secret_name: one, secret_key: k}]'));
  const next = references(
    '[{name: A, secret_name: two, secret_key: k}, {name: B, secret_name: one, secret_key: k}]',
  );
  const { out } = await run(1, ['diff', '-f', '-'], {}, next);
  for (const field of ['A', 'B']) expect(out).toContain(`secret_references.${field}`);
  await run(0, ['apply', '-f', '-'], {}, next);
  await run(0, ['diff', '-f', '-'], {}, next);
  expect(await stored()).toHaveLength(2);
  await run(0, ['apply', '-f', '-'], {}, yaml('shop'));
  expect(await stored()).toBeUndefined();
});
