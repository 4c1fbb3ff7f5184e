import { expect, test } from 'vitest';
import {
  matchingRules,
  type WorkloadIssuer,
  workloadIssuersSchema,
} from '../../../../src/domain/access/workload-policy.ts';
import { ruleId, shownSubject, workloadName } from '../../../../src/domain/access/workload-verifier.ts';

const rule = (more: object = {}) => ({
  name: 'main',
  claims: { repository_id: '1296269', ref: 'refs/heads/main' },
  tenant: 'shop',
  roles: ['deployer'],
  ...more,
});
const issuer = (more: object = {}) => ({
  name: 'github',
  issuer: 'https://token.actions.githubusercontent.com',
  jwks_url: 'https://token.actions.githubusercontent.com/.well-known/jwks',
  rules: [rule()],
  ...more,
});
const RSA = { kty: 'RSA', kid: 'one', n: 'AQAB', e: 'AQAB' };

const problemsOf = (value: unknown) => {
  const { error } = workloadIssuersSchema.safeParse(value);
  return (error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`);
};

test('fills in RS256 and the longest lifetime when an issuer states neither', () => {
  const [parsed] = workloadIssuersSchema.parse([issuer()]);
  expect(parsed).toMatchObject({ algorithms: ['RS256'], rules: [{ lifetime_seconds: 900 }] });
});

test.each<[string, object, string]>([
  [
    'no claim of a rule identifies a repository',
    { claims: { repository_owner: 'acme' } },
    '0.rules.0.claims: must contain at least one of sub, repository_id',
  ],
  ['a rule has no claims', { claims: {} }, '0.rules.0.claims: must contain at least one of sub'],
  [
    'a rule names only the issuer',
    { claims: { iss: 'https://x.example' } },
    '0.rules.0.claims: must not contain iss, which is always checked',
  ],
  ['a rule sets the audience', { claims: { sub: 'x', aud: 'y' } }, '0.rules.0.claims: must not contain aud'],
  ['a claim has a wildcard', { claims: { sub: 'repo:acme/*' } }, '0.rules.0.claims.sub: must not contain *'],
  ['a claim is empty', { claims: { sub: '' } }, '0.rules.0.claims.sub: '],
  ['a rule gives the role of the platform', { roles: ['platform_admin'] }, '0.rules.0.roles.0: '],
  ['a rule gives no role', { roles: [] }, '0.rules.0.roles: '],
  ['a token would last longer than 15 minutes', { lifetime_seconds: 901 }, '0.rules.0.lifetime_seconds: '],
  ['a rule has an unknown field', { repository: 'x' }, '0.rules.0: '],
])('rejects the file and names the field when %s', (_when, more, expected) => {
  expect(problemsOf([issuer({ rules: [rule(more)] })]).join('\n')).toContain(expected);
});

test.each<[string, object, string]>([
  ['an issuer has no keys', { jwks_url: undefined }, '0.jwks_url: set either jwks_url or jwks'],
  ['an issuer has two sources of keys', { jwks: { keys: [RSA] } }, '0.jwks_url: set either jwks_url or jwks'],
  ['keys are read over http', { jwks_url: 'http://issuer.example/keys' }, '0.jwks_url: must be an https URL'],
  [
    'keys are read from a private address',
    { jwks_url: 'https://10.0.0.1/keys' },
    '0.jwks_url: must not have a private address',
  ],
  ['keys are read from the metadata service', { jwks_url: 'https://169.254.169.254/keys' }, '0.jwks_url: '],
  [
    'an inline key is private',
    { jwks_url: undefined, jwks: { keys: [{ ...RSA, d: 'AQAB' }] } },
    '0.jwks.keys.0.d: must not be set',
  ],
  [
    'an inline key is symmetric',
    { jwks_url: undefined, jwks: { keys: [{ kty: 'oct', k: 'AQAB' }] } },
    '0.jwks.keys.0.kty: ',
  ],
  ['an algorithm is symmetric', { algorithms: ['HS256'] }, '0.algorithms.0: '],
  ['an algorithm is none', { algorithms: ['none'] }, '0.algorithms.0: '],
  ['two rules have one name', { rules: [rule(), rule()] }, '0.rules: must not contain the name main twice'],
])('rejects the file and names the field when %s', (_when, more, expected) => {
  expect(problemsOf([issuer(more)]).join('\n')).toContain(expected);
});

test('accepts two issuers with one claim iss, and rejects two with one name', () => {
  expect(problemsOf([issuer(), issuer({ name: 'other' })])).toEqual([]);
  expect(problemsOf([issuer(), issuer()])).toEqual([': must not contain the name github twice']);
});

const parsedRules = (...rules: object[]) =>
  workloadIssuersSchema.parse([issuer({ rules })])[0] as WorkloadIssuer;

test('finds the rules whose claims a token has exactly', () => {
  const rules = parsedRules(
    rule(),
    rule({ name: 'number', claims: { repository_id: 1296269 } }),
    rule({ name: 'flag', claims: { repository_id: '1296269', ref_protected: true } }),
    rule({ name: 'other', claims: { repository_id: '129626' } }),
  );
  const names = (claims: Record<string, unknown>) => matchingRules(rules, claims).map(({ name }) => name);
  const claims = { repository_id: '1296269', ref: 'refs/heads/main' };
  expect(names(claims)).toEqual(['main', 'number']);
  expect(names({ ...claims, ref: 'refs/heads/mainline', ref_protected: 'true' })).toEqual(['number', 'flag']);
  expect(names({ ...claims, repository_id: ['1296269'] })).toEqual([]);
  expect(names({})).toEqual([]);
  expect(names(Object.create(claims) as Record<string, unknown>)).toEqual([]);
});

test('shows a subject as one visible line', () => {
  const id = ruleId({ name: 'github' }, { name: 'main' });
  expect(workloadName(id, shownSubject('repo:acme/shop\n\u202egpj'))).toBe(
    'github/main: repo:acme/shop??gpj',
  );
  expect(shownSubject('x'.repeat(300))).toHaveLength(256);
});
