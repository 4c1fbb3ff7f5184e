import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
} from 'node:crypto';

/** The keys by which the registry knows the hub's tokens, and the hub its own credentials. */

/** A public key as the registry gets it (RFC 7517). */
export interface PublicJwk {
  readonly kty: 'EC';
  readonly crv: 'P-256';
  readonly x: string;
  readonly y: string;
  /** Thumbprint of the key (RFC 7638), by which tokens name it. */
  readonly kid: string;
  readonly use: 'sig';
  readonly alg: 'ES256';
}

export interface SigningKey {
  /** Signs access tokens, which the registry checks. */
  readonly privateKey: KeyObject;
  readonly jwk: PublicJwk;
  /** Seals credentials, which nobody but the hub checks. */
  readonly credentialKey: Buffer;
}

const PEM_BLOCK = /-----BEGIN ([A-Z ]+)-----[\s\S]*?-----END \1-----/g;
const CREDENTIAL_KEY_BYTES = 32;
/** Part of what credentials are made of: another text makes all of them invalid. */
const CREDENTIAL_PURPOSE = 'berth registry credential v1';

const HOW_TO = 'make one with: berth keys registry';

function publicJwk(privateKey: KeyObject): PublicJwk {
  const { x = '', y = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  // RFC 7638: the required members, in the order of their names.
  const thumbprint = createHash('sha256').update(JSON.stringify({ crv: 'P-256', kty: 'EC', x, y }));
  return { kty: 'EC', crv: 'P-256', x, y, kid: thumbprint.digest('base64url'), use: 'sig', alg: 'ES256' };
}

/** A key of its own for each purpose: nothing that one of them makes can be taken for the other's. */
function credentialKey(privateKey: KeyObject): Buffer {
  const secret = Buffer.from(privateKey.export({ format: 'jwk' }).d ?? '', 'base64url');
  return Buffer.from(hkdfSync('sha256', secret, '', CREDENTIAL_PURPOSE, CREDENTIAL_KEY_BYTES));
}

function parseBlock(block: string): SigningKey {
  let privateKey: KeyObject;
  try {
    privateKey = createPrivateKey(block);
  } catch {
    // The parser's own message may quote the key.
    throw new Error(`holds a block that is no private key in PEM form; ${HOW_TO}`);
  }
  if (privateKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1')
    throw new Error(`holds a key that is not of the curve P-256; ${HOW_TO}`);
  return { privateKey, jwk: publicJwk(privateKey), credentialKey: credentialKey(privateKey) };
}

/**
 * Reads keys, one PEM block each; the first signs, all are believed. Line ends may be written as `\n`, where a setting
 * must be one line.
 * @throws Error that says what is wrong, and nothing of what was given
 */
export function parseSigningKeys(text: string): [SigningKey, ...SigningKey[]] {
  const blocks = text.replaceAll('\\n', '\n').match(PEM_BLOCK) ?? [];
  const [first, ...more] = blocks.map(parseBlock);
  if (first === undefined) throw new Error(`holds no private key in PEM form; ${HOW_TO}`);
  const ids = [first, ...more].map(({ jwk }) => jwk.kid);
  if (new Set(ids).size < ids.length) throw new Error('holds a key twice');
  return [first, ...more];
}

/** A new key, as PEM. */
export function generateSigningKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
}

/** What the registry is given, so that it believes tokens of these keys (RFC 7517). */
export function keySet(keys: readonly SigningKey[]): { keys: PublicJwk[] } {
  return { keys: keys.map(({ jwk }) => jwk) };
}
