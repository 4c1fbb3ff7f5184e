import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
} from 'node:crypto';

/** Keys with which the registry verifies the hub's tokens, and the hub its own credentials. */

/** A public key in the key set of the registry (RFC 7517). */
export interface PublicJwk {
  readonly kty: 'EC';
  readonly crv: 'P-256';
  readonly x: string;
  readonly y: string;
  /** Thumbprint of the key (RFC 7638). Tokens name the key by it. */
  readonly kid: string;
  readonly use: 'sig';
  readonly alg: 'ES256';
}

export interface SigningKey {
  /** Signs access tokens, which the registry verifies. */
  readonly privateKey: KeyObject;
  readonly jwk: PublicJwk;
  /** HMAC key of credentials, which only the hub verifies. */
  readonly credentialKey: Buffer;
}

const PEM_BLOCK = /-----BEGIN ([A-Z ]+)-----[\s\S]*?-----END \1-----/g;
const CREDENTIAL_KEY_BYTES = 32;
/** Part of the derivation of the HMAC key. Another text makes all credentials invalid. */
const CREDENTIAL_PURPOSE = 'berth registry credential v1';

const HOW_TO = 'create one with: berth keys registry';

function publicJwk(privateKey: KeyObject): PublicJwk {
  const { x = '', y = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  // RFC 7638: the required members, in the order of their names.
  const thumbprint = createHash('sha256').update(JSON.stringify({ crv: 'P-256', kty: 'EC', x, y }));
  return { kty: 'EC', crv: 'P-256', x, y, kid: thumbprint.digest('base64url'), use: 'sig', alg: 'ES256' };
}

/** A separate key for credentials, so that a signature and an HMAC can never be mistaken for each other. */
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
    throw new Error(`contains a block that is not a private key in PEM format; ${HOW_TO}`);
  }
  if (privateKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1')
    throw new Error(`contains a key that is not on the curve P-256; ${HOW_TO}`);
  return { privateKey, jwk: publicJwk(privateKey), credentialKey: credentialKey(privateKey) };
}

/**
 * Parses keys, one PEM block each. The first one signs, and all are accepted. Line ends may be written as `\n`, because
 * some settings must be one line.
 * @throws Error that contains nothing of the input
 */
export function parseSigningKeys(text: string): [SigningKey, ...SigningKey[]] {
  const blocks = text.replaceAll('\\n', '\n').match(PEM_BLOCK) ?? [];
  const [first, ...more] = blocks.map(parseBlock);
  if (first === undefined) throw new Error(`contains no private key in PEM format; ${HOW_TO}`);
  const ids = [first, ...more].map(({ jwk }) => jwk.kid);
  if (new Set(ids).size < ids.length) throw new Error('contains a key twice');
  return [first, ...more];
}

/** A new key in PEM format. */
export function generateSigningKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
}

/** The key set with which the registry verifies tokens of these keys (RFC 7517). */
export function keySet(keys: readonly SigningKey[]): { keys: PublicJwk[] } {
  return { keys: keys.map(({ jwk }) => jwk) };
}
