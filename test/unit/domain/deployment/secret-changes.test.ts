import { describe, expect, test } from 'vitest';
import {
  type ChangeSecretsBody,
  changeSecretsBodySchema,
  mergeSecrets,
} from '../../../../src/domain/deployment/secret-changes.ts';
import { SECRET_MASK } from '../../../../src/domain/redaction/secret-list.ts';

const A = { name: 'A', value: '1' };
const B = { name: 'B', value: '2' };

describe('mergeSecrets', () => {
  test.each<[string, ChangeSecretsBody, object[]]>([
    ['keeps all secrets when the body is empty', {}, [A, B]],
    ['keeps all secrets when both lists are null', { set: null, unset: null }, [A, B]],
    ['adds a secret at the end', { set: [{ name: 'C', value: '' }] }, [A, B, { name: 'C', value: '' }]],
    ['replaces a value in its place', { set: [{ name: 'A', value: '9' }] }, [{ name: 'A', value: '9' }, B]],
    ['removes a secret', { unset: ['A'] }, [B]],
    ['ignores names that are not stored', { unset: ['X', 'X'] }, [A, B]],
    ['keeps the stored value when the mask is set', { set: [{ name: 'A', value: SECRET_MASK }] }, [A, B]],
  ])('%s', (_what, body, expected) => {
    expect(changeSecretsBodySchema.safeParse(body).success).toBe(true);
    expect(mergeSecrets([A, B], body)).toEqual({ secrets: expected, issues: [] });
  });

  test('reports the name when it is both set and unset', () => {
    const { issues } = mergeSecrets([A], { set: [B, A], unset: ['A'] });
    expect(issues).toMatchObject([{ loc: ['set', 1, 'name'], type: 'set_and_unset' }]);
  });

  test('reports the mask when no value is stored', () => {
    const { issues } = mergeSecrets([A], { set: [{ name: 'X', value: SECRET_MASK }] });
    expect(issues).toMatchObject([{ loc: ['set', 0, 'value'], type: 'masked_secret_unknown' }]);
  });

  test('reports the number and the size of the whole list when the merged list exceeds a limit', () => {
    const many = Array.from({ length: 1000 }, (_, n) => ({ name: `S${n}`, value: '' }));
    expect(mergeSecrets(many, { set: [A] }).issues).toMatchObject([{ loc: ['set'], type: 'too_big' }]);
    expect(mergeSecrets(many, { set: [A], unset: ['S0'] }).issues).toEqual([]);
    const large = Array.from({ length: 7 }, (_, n) => ({ name: `S${n}`, value: 'x'.repeat(110 * 1024) }));
    const more = { name: 'L', value: 'x'.repeat(110 * 1024) };
    expect(mergeSecrets(large, { set: [more] }).issues).toMatchObject([{ loc: ['set'] }]);
  });

  describe('when the stored list exceeds a limit of today', () => {
    const many = Array.from({ length: 1002 }, (_, n) => ({ name: `S${n}`, value: '' }));
    const large = Array.from({ length: 8 }, (_, n) => ({ name: `S${n}`, value: 'x'.repeat(110 * 1024) }));
    const shorter = [{ name: 'S0', value: 'new' }];

    test.each<[string, typeof many, ChangeSecretsBody]>([
      ['removes a secret', many, { unset: ['S0'] }],
      ['replaces a secret', many, { set: shorter }],
      ['removes and adds as many secrets', many, { set: [A], unset: ['S0'] }],
      ['replaces a value by a shorter one', large, { set: shorter }],
      ['removes a large secret', large, { unset: ['S0'] }],
    ])('%s', (_what, stored, body) => {
      expect(mergeSecrets(stored, body).issues).toEqual([]);
    });

    test.each<[string, typeof many, ChangeSecretsBody]>([
      ['adds a secret', many, { set: [A] }],
      ['adds more secrets than it removes', many, { set: [A, B], unset: ['S0'] }],
      ['makes a value longer', large, { set: [{ name: 'S0', value: 'x'.repeat(110 * 1024 + 1) }] }],
    ])('rejects a body that %s', (_what, stored, body) => {
      expect(mergeSecrets(stored, body).issues).toMatchObject([{ loc: ['set'], type: 'too_big' }]);
    });
  });
});

test.each<[string, object]>([
  ['a name twice in set', { set: [A, A] }],
  ['a reserved name', { set: [{ name: 'DATABASE_URI', value: 'x' }] }],
  ['an unknown field', { set: [], secrets: [] }],
  ['a pair instead of a name in unset', { unset: [A] }],
])('the body is rejected: %s', (_what, body) => {
  expect(changeSecretsBodySchema.safeParse(body).success).toBe(false);
});
