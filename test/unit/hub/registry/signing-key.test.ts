import { generateKeyPairSync } from 'node:crypto';
import { calculateJwkThumbprint } from 'jose';
import { describe, expect, it } from 'vitest';
import { generateSigningKey, keySet, parseSigningKeys } from '../../../../src/hub/registry/signing-key.ts';

const pem = generateSigningKey();

describe('signing keys', () => {
  it('are read from one or more PEM blocks, with line breaks or with \\n', () => {
    const second = generateSigningKey();
    const ids = parseSigningKeys(`${pem}\n${second}`).map(({ jwk }) => jwk.kid);
    expect(new Set(ids).size).toBe(2);
    expect(parseSigningKeys(`${pem}${second}`.replaceAll('\n', '\\n')).map(({ jwk }) => jwk.kid)).toEqual(
      ids,
    );
  });

  it('are named by their thumbprint and give no private part away', async () => {
    const keys = parseSigningKeys(pem);
    const [{ jwk }] = keys;
    expect(jwk.kid).toBe(await calculateJwkThumbprint({ ...jwk }));
    expect(Object.keys(keySet(keys).keys[0] ?? {}).sort()).toEqual([
      'alg',
      'crv',
      'kid',
      'kty',
      'use',
      'x',
      'y',
    ]);
  });

  it.each([
    ['nothing', '', /no private key in PEM form/],
    ['no PEM', 'secret-text', /no private key in PEM form/],
    ['a broken block', pem.replace(/\n.{20}/, '\nAAAA'), /not a private key/],
    [
      'another curve',
      generateKeyPairSync('ec', { namedCurve: 'P-384' })
        .privateKey.export({ format: 'pem', type: 'pkcs8' })
        .toString(),
      /not on the curve P-256/,
    ],
    [
      'another kind',
      generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
      /not on the curve P-256/,
    ],
    ['a public key', pem.replaceAll('PRIVATE', 'PUBLIC'), /not a private key/],
    ['the same one twice', `${pem}${pem}`, /twice/],
  ])('are rejected without a quote of the input: %s', (_, text, message) => {
    expect(() => parseSigningKeys(text)).toThrow(message);
    try {
      parseSigningKeys(text);
    } catch (error) {
      for (const line of text.split('\n').filter((part) => part.length > 8))
        expect(String(error)).not.toContain(line);
    }
  });
});
