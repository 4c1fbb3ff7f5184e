import { createPrivateKey } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  CREDENTIAL_KINDS,
  readCredential,
  type Statement,
  writeCredential,
} from '../../../../src/hub/registry/credential.ts';
import { generateSigningKey, parseSigningKeys } from '../../../../src/hub/registry/signing-key.ts';

const [key] = parseSigningKeys(generateSigningKey());
const [other] = parseSigningKeys(generateSigningKey());
const NOW = new Date('2026-01-01T00:00:00Z');

const statements: fc.Arbitrary<Statement> = fc.record({
  kind: fc.constantFrom(...CREDENTIAL_KINDS),
  deploymentId: fc.uuid(),
  tenantId: fc.uuid(),
  expiresAt: fc.option(
    fc.integer({ min: 1, max: 1_000_000 }).map((seconds) => new Date(NOW.getTime() + seconds * 1000)),
  ),
});

describe('a credential', () => {
  it('contains its statement, is read with any of the keys, and always has the same text', () => {
    fc.assert(
      fc.property(statements, (statement) => {
        const text = writeCredential(key, statement);
        expect(writeCredential(key, statement)).toBe(text);
        expect(readCredential([key], text, NOW)).toEqual(statement);
        expect(readCredential([other, key], text, NOW)).toEqual(statement);
        expect(readCredential([other], text, NOW)).toBeNull();
      }),
    );
  });

  it('keeps its format, because pull Secrets in clusters contain it', () => {
    // The key of RFC 7515, appendix A.3. Version 0.1.0 wrote the credential.
    const jwk = {
      kty: 'EC',
      crv: 'P-256',
      x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
      y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
      d: 'jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI',
    };
    const pem = createPrivateKey({ key: jwk, format: 'jwk' }).export({ format: 'pem', type: 'pkcs8' });
    const stored =
      'berth-registry.WyJwdWxsIiwiMDE5YWMwZGUtMDAwMC03MDAwLTgwMDAtMDAwMDAwMDAwMDAxIiwiMDE5YWMwZGUtMDAwMC03MDAwLTgwMDAtMDAwMDAwMDAwMDAyIixudWxsXQ.g3LC6SzzabIKlYM06ZtMYmeKlK-aCK_PkpCj0YNuKpk';
    const statement = {
      kind: 'pull',
      deploymentId: '019ac0de-0000-7000-8000-000000000001',
      tenantId: '019ac0de-0000-7000-8000-000000000002',
      expiresAt: null,
    } as const;
    const [former] = parseSigningKeys(pem.toString());
    expect(readCredential([former], stored, NOW)).toEqual(statement);
    expect(writeCredential(former, statement)).toBe(stored);
  });

  it('is invalid when any character is changed, removed or added', () => {
    const text = writeCredential(key, { kind: 'push', deploymentId: 'd', tenantId: 't', expiresAt: null });
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.constantFrom('A', '_', '.', '=', ''), (at, character) => {
        const changed = text.slice(0, at) + character + text.slice(at + 1);
        // The last character of base64 has bits that mean nothing.
        if (changed === text || at === text.length - 1) return;
        expect(readCredential([key], changed, NOW)).toBeNull();
      }),
    );
    expect(readCredential([key], `${text}.x`, NOW)).toBeNull();
    expect(readCredential([key], '', NOW)).toBeNull();
    expect(readCredential([key], 'x'.repeat(100_000), NOW)).toBeNull();
  });

  it('is invalid from the second in which it expires', () => {
    const statement = { kind: 'push', deploymentId: 'd', tenantId: 't', expiresAt: NOW } as const;
    const text = writeCredential(key, statement);
    expect(readCredential([key], text, new Date(NOW.getTime() - 1))).toEqual(statement);
    expect(readCredential([key], text, NOW)).toBeNull();
  });
});
