import { createPublicKey, verify } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { grantedAccess } from '../../../../src/hub/registry/access-token.ts';
import { createRegistryAuthority } from '../../../../src/hub/registry/authority.ts';
import { registryConfig } from '../../../../src/hub/registry/registry-config.ts';
import { generateSigningKey, parseSigningKeys } from '../../../../src/hub/registry/signing-key.ts';

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
  it('signs tokens that the key set verifies, for its registry and a short time', () => {
    const statement = { kind: 'pull', deploymentId: 'd1', tenantId: 't1', expiresAt: null } as const;
    const scopes = [`repository:${PATH}:pull,push`];
    const { token, expiresIn } = authority.accessToken(statement, OWNER, scopes, NOW);
    const [header = '', payload = '', signature = ''] = token.split('.');
    const decoded = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());
    expect(decoded(header)).toEqual({ typ: 'JWT', alg: 'ES256', kid: keys[0].jwk.kid });
    const start = Math.floor(NOW.getTime() / 1000);
    expect(decoded(payload)).toEqual({
      iss: 'berth',
      aud: 'registry.example.com:5000',
      sub: 'pull:d1',
      iat: start,
      nbf: start,
      exp: start + expiresIn,
      jti: expect.any(String),
      access: [{ type: 'repository', name: PATH, actions: ['pull'] }],
    });
    const publicKey = createPublicKey({ key: { ...keys[0].jwk }, format: 'jwk' });
    const proof = { key: publicKey, dsaEncoding: 'ieee-p1363' } as const;
    expect(
      verify('sha256', Buffer.from(`${header}.${payload}`), proof, Buffer.from(signature, 'base64url')),
    ).toBe(true);
    // It is no credential, nor is a credential a token.
    expect(authority.read(token, NOW)).toBeNull();
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
