import { expect, test } from 'vitest';
import { loadConfig } from '../../../src/config/index.ts';

const COMPLETE = {
  BERTH_PUBLIC_URL: 'https://berth.example.com',
  BERTH_OIDC_ISSUER: 'https://login.example.com',
  BERTH_OIDC_CLIENT_ID: 'berth',
};
const problem = (more: Record<string, string | undefined>) => () => loadConfig({ ...COMPLETE, ...more });

test('has no identity provider by default', () => {
  expect(loadConfig({}).signIn).toEqual({
    provider: null,
    groupsClaim: 'groups',
    idleSeconds: 7_200,
    maxSeconds: 43_200,
  });
});

test('reads the identity provider', () => {
  const { provider } = loadConfig({ ...COMPLETE, BERTH_OIDC_SCOPES: 'openid  groups' }).signIn;
  expect(provider).toEqual({
    issuer: 'https://login.example.com',
    clientId: 'berth',
    clientSecret: null,
    scopes: ['openid', 'groups'],
    signingAlgorithm: 'RS256',
  });
});

test.each([
  [{ BERTH_OIDC_ISSUER: 'http://login.example.com' }, 'BERTH_OIDC_ISSUER: must be an https URL'],
  [{ BERTH_OIDC_ISSUER: 'http://127.0.0.2' }, 'BERTH_OIDC_ISSUER: must be an https URL'],
  [{ BERTH_OIDC_CLIENT_ID: undefined }, 'BERTH_OIDC_CLIENT_ID is not set'],
  [{ BERTH_OIDC_ISSUER: undefined }, 'BERTH_OIDC_CLIENT_ID needs BERTH_OIDC_ISSUER'],
  [{ BERTH_OIDC_SCOPES: 'profile' }, 'must contain openid'],
  [{ BERTH_OIDC_SIGNING_ALGORITHM: 'HS256' }, 'BERTH_OIDC_SIGNING_ALGORITHM'],
  [{ BERTH_PUBLIC_URL: 'http://berth.example.com' }, 'needs BERTH_PUBLIC_URL with the https URL'],
  [{ BERTH_PUBLIC_URL: 'http://127.0.0.2' }, 'needs BERTH_PUBLIC_URL with the https URL'],
  [{ BERTH_PUBLIC_URL: undefined }, 'needs BERTH_PUBLIC_URL with the https URL'],
])('rejects %j', (more, message) => {
  expect(problem(more)).toThrow(message);
});
