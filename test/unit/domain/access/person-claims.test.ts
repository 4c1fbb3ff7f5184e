import { describe, expect, test } from 'vitest';
import { identityOf } from '../../../../src/domain/access/person-claims.ts';

const CLAIMS = {
  iss: 'https://login.example.com',
  sub: '42',
  email: 'ann@example.com',
  email_verified: true,
};
const groupsOf = (claims: object, claim = 'groups') => identityOf({ ...CLAIMS, ...claims }, claim).groups;
const nameOf = (claims: object) => identityOf({ ...CLAIMS, ...claims }, 'groups').name;

describe('the groups of a person', () => {
  test.each([
    ['a list', { groups: ['a', 'b', 'a'] }, 'groups', ['a', 'b']],
    ['one text', { hd: 'example.com' }, 'hd', ['example.com']],
    ['a path', { realm_access: { roles: ['a'] } }, 'realm_access.roles', ['a']],
    ['a name with dots', { 'https://example.com/groups': ['a'] }, 'https://example.com/groups', ['a']],
    ['a list with other values', { groups: ['a', 1, null, '', { b: 1 }, 'x'.repeat(600)] }, 'groups', ['a']],
    ['no such claim', {}, 'groups', []],
    ['a property of objects', {}, 'constructor.name', []],
  ])('are read from %s', (_, claims, claim, groups) => {
    expect(groupsOf(claims, claim)).toEqual(groups);
  });

  test('contain an address only if the issuer verified it', () => {
    expect(groupsOf({}, 'email')).toEqual(['ann@example.com']);
    for (const email_verified of [false, undefined, 'no'])
      expect(groupsOf({ email_verified }, 'email')).toEqual([]);
  });

  test('are reported as left out when the issuer had too many', () => {
    const claims = { ...CLAIMS, _claim_names: { groups: 'src1' } };
    expect(identityOf(claims, 'groups').hasTooManyGroups).toBe(true);
    expect(identityOf(CLAIMS, 'groups').hasTooManyGroups).toBe(false);
  });
});

describe('the name of a person', () => {
  test('is the verified address, otherwise the name at the issuer, otherwise the subject', () => {
    expect(nameOf({})).toBe('ann@example.com');
    expect(nameOf({ email_verified: false, preferred_username: 'ann', name: 'Ann' })).toBe('ann');
    expect(nameOf({ email: undefined, name: 'Ann' })).toBe('Ann');
    expect(nameOf({ email: undefined })).toBe('42');
  });

  test('has only visible characters, and a limited length', () => {
    expect(nameOf({ email: undefined, name: 'Ann\u202ereversed' })).toBe('42');
    expect(nameOf({ email: undefined, name: 'x'.repeat(5_000) })).toHaveLength(128);
  });
});

test('claims without issuer or subject are rejected', () => {
  expect(() => identityOf({ iss: 'x' }, 'groups')).toThrow('no subject');
  expect(() => identityOf({ ...CLAIMS, sub: '' }, 'groups')).toThrow('no subject');
});
