import fc from 'fast-check';
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import { grantedAccess } from '../../../../src/hub/registry/access-token.ts';
import { createRegistryAuthority } from '../../../../src/hub/registry/authority.ts';
import { registryConfig } from '../../../../src/hub/registry/registry-config.ts';
import { generateSigningKey, keySet, parseSigningKeys } from '../../../../src/hub/registry/signing-key.ts';

const keys = parseSigningKeys(generateSigningKey());
const authority = createRegistryAuthority('https://registry.example.com:5000/apps/', keys);
const OWNER = { id: 'd1', tenantId: 't1', appName: 'shop-12345678' };
const NOW = new Date('2026-01-01T00:00:00.500Z');
const PATH = 'apps/t1/shop-12345678';

describe('the granted access', () => {
  const both = { path: PATH, actions: ['pull', 'push'] };
  it.each([
    [['repository:apps/t1/shop-12345678:pull'], ['pull']],
    [['repository:apps/t1/shop-12345678:push,pull'], ['pull', 'push']],
    [
      ['repository:apps/t1/shop-12345678:pull', 'repository:apps/t1/shop-12345678:push'],
      ['pull', 'push'],
    ],
    [['repository:other:pull repository:apps/t1/shop-12345678:pull'], ['pull']],
    [['repository:apps/t1/shop-12345678:delete'], []],
    [['repository:apps/t1/shop-12345678:*'], []],
    [['repository:apps/t1/shop-12345678/deeper:pull'], []],
    [['repository:apps/t1:pull'], []],
    [['repository(plugin):apps/t1/shop-12345678:pull'], []],
    [['registry:catalog:*'], []],
    [['', ':', '::', 'repository', 'repository:apps/t1/shop-12345678'], []],
    [[], []],
  ])('is for the scopes %j: %j', (scopes, actions) => {
    expect(grantedAccess(scopes, both)).toEqual(
      actions.length === 0 ? [] : [{ type: 'repository', name: PATH, actions }],
    );
  });

  it('never exceeds the credential, whatever scopes are requested', () => {
    const scope = fc.oneof(
      fc.string(),
      fc
        .tuple(
          fc.constantFrom('repository', 'registry', 'x'),
          fc.constantFrom(PATH, 'catalog', 'apps/t2/x', `${PATH}/x`),
          fc.array(fc.constantFrom('pull', 'push', 'delete', '*')),
        )
        .map(([type, name, actions]) => `${type}:${name}:${actions.join(',')}`),
    );
    fc.assert(
      fc.property(fc.array(scope), (scopes) => {
        const granted = grantedAccess(scopes, { path: PATH, actions: ['pull'] });
        expect([[], [{ type: 'repository', name: PATH, actions: ['pull'] }]]).toContainEqual(granted);
      }),
    );
  });
});

describe('the authority', () => {
  it('signs tokens that the key set proves, for its registry and a short time', async () => {
    const statement = { kind: 'pull', deploymentId: 'd1', tenantId: 't1', expiresAt: null } as const;
    const scopes = [`repository:${PATH}:pull,push`];
    const { token, expiresIn } = await authority.accessToken(statement, OWNER, scopes, NOW);
    expect(decodeProtectedHeader(token)).toEqual({ typ: 'JWT', alg: 'ES256', kid: keys[0].jwk.kid });
    const start = Math.floor(NOW.getTime() / 1000);
    const expected = { issuer: 'berth', audience: 'registry.example.com:5000', algorithms: ['ES256'] };
    const at = (time: Date) => ({ ...expected, currentDate: time });
    const verified = await jwtVerify(token, createLocalJWKSet(keySet(keys)), at(NOW));
    expect(verified.payload).toEqual({
      iss: 'berth',
      aud: 'registry.example.com:5000',
      sub: 'pull:d1',
      iat: start,
      nbf: start,
      exp: start + expiresIn,
      jti: expect.any(String),
      access: [{ type: 'repository', name: PATH, actions: ['pull'] }],
    });
    const expired = at(new Date((start + expiresIn) * 1000));
    await expect(jwtVerify(token, createLocalJWKSet(keySet(keys)), expired)).rejects.toMatchObject({
      code: 'ERR_JWT_EXPIRED',
    });
    // It is no credential, nor is a credential a token.
    expect(authority.read(token, NOW)).toBeNull();
  });

  it('signs with the first key, and tokens of an unknown key are not verified', async () => {
    const next = parseSigningKeys(generateSigningKey());
    const rotating = createRegistryAuthority('registry.example.com', [...next, ...keys]);
    const token = await rotating.cleaningToken(OWNER, new Date());
    expect(decodeProtectedHeader(token).kid).toBe(next[0].jwk.kid);
    await expect(jwtVerify(token, createLocalJWKSet(keySet(keys)))).rejects.toMatchObject({
      code: 'ERR_JWKS_NO_MATCHING_KEY',
    });
    const relabelled = createRegistryAuthority('registry.example.com', [
      { ...next[0], jwk: { ...next[0].jwk, kid: keys[0].jwk.kid } },
    ]);
    const forged = await relabelled.cleaningToken(OWNER, new Date());
    await expect(jwtVerify(forged, createLocalJWKSet(keySet(keys)))).rejects.toMatchObject({
      code: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
    });
  });

  it('writes credentials in the form of a Docker configuration, by the host of the registry', () => {
    const credential = authority.credential('pull', OWNER, null);
    const { auths } = JSON.parse(authority.dockerConfig(credential));
    expect(Object.keys(auths)).toEqual(['registry.example.com:5000']);
    const { username, password, auth } = auths['registry.example.com:5000'];
    expect(Buffer.from(auth, 'base64').toString()).toBe(`${username}:${password}`);
    expect(authority.read(password, NOW)).toMatchObject({ kind: 'pull', deploymentId: 'd1', tenantId: 't1' });
    expect(authority.repositoryOf(OWNER)).toBe(`registry.example.com:5000/${PATH}`);
  });

  it('configures the token URL for clients of the registry', () => {
    expect(registryConfig('registry.example.com/apps', 'https://berth.example.com/')).toContain(
      'realm: https://berth.example.com/v2/registry/token\n    service: registry.example.com\n',
    );
  });
});
