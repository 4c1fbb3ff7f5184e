import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';
import { uuidv7 } from '../../../domain/core/id.ts';
import type { Secret } from '../../../domain/deployment/deployment.ts';
import { SecretBoxError } from '../core/errors.ts';
import type { SealedSecrets } from '../core/records.ts';

/** A key of 32 bytes, with the id that encrypted values refer to. */
export interface EncryptionKey {
  readonly id: string;
  readonly key: Buffer;
}

/** Encrypts with the primary key, and decrypts with any of the keys. */
export interface SecretBox {
  readonly primaryKeyId: string;
  /** Ids of all keys that can be used to decrypt. */
  readonly keyIds: ReadonlySet<string>;
  /** @param context the owner of the value. `open` needs the same context */
  seal(plaintext: Buffer, context: string): { keyId: string; sealed: Buffer };
  /** @throws SecretBoxError when the value was changed, the context differs, or the key is not configured */
  open(sealed: Buffer, keyId: string, context: string): Buffer;
  /** Keyed hash of a text that may contain secrets. The hash must be compared only with `matches`. */
  fingerprint(text: string): string;
  /**
   * Whether `fingerprint` was created from this text. Also false when the key of the fingerprint is no longer
   * configured.
   */
  matches(text: string, fingerprint: string): boolean;
}

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * AES-256-GCM. The encrypted value is nonce (12 bytes) + tag (16 bytes) + ciphertext. The key id is also authenticated.
 * GCM is a stream cipher, so `update` returns the whole text, and `final` creates or checks the tag.
 * @param options.keys all keys that encrypted values may refer to
 * @param options.primary id of the key that encrypts
 */
export function createSecretBox(options: { keys: readonly EncryptionKey[]; primary: string }): SecretBox {
  // Key objects are created once, because the conversion of a Buffer to a key at each use takes longer than the
  // decryption (npm run bench -- api-list).
  const keys = new Map(options.keys.map(({ id, key }) => [id, createSecretKey(key)]));
  for (const [id, key] of keys) {
    if (key.symmetricKeySize !== KEY_BYTES)
      throw new SecretBoxError(`failed to use encryption key ${id}: not 32 bytes`);
  }
  const find = (id: string): KeyObject => {
    const key = keys.get(id);
    if (key === undefined)
      throw new SecretBoxError(`failed to find encryption key ${id}: it is not configured`);
    return key;
  };
  const primary = find(options.primary);
  const fingerprintKeys = new Map(
    [...keys].map(([id, key]) => [
      id,
      Buffer.from(hkdfSync('sha256', key, '', 'berth fingerprint', KEY_BYTES)),
    ]),
  );
  const authenticated = (keyId: string, context: string) => Buffer.from(`${keyId}\n${context}`);
  const digest = (keyId: string, text: string): Buffer | null => {
    const key = fingerprintKeys.get(keyId);
    return key === undefined ? null : createHmac('sha256', key).update(text).digest();
  };

  return {
    primaryKeyId: options.primary,
    keyIds: new Set(keys.keys()),
    seal(plaintext, context) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, primary, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(authenticated(options.primary, context));
      const ciphertext = cipher.update(plaintext);
      cipher.final();
      return { keyId: options.primary, sealed: Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]) };
    },
    open(sealed, keyId, context) {
      const key = find(keyId);
      if (sealed.length < NONCE_BYTES + TAG_BYTES)
        throw new SecretBoxError('failed to decrypt a value: the stored value is too short');
      const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(authenticated(keyId, context));
      decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
      try {
        const plaintext = decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES));
        // `final` checks the tag. The plaintext is returned only after this check.
        decipher.final();
        return plaintext;
      } catch {
        throw new SecretBoxError(
          'failed to decrypt a value: the stored value was changed or belongs to another row',
        );
      }
    },
    fingerprint(text) {
      return `${options.primary}:${digest(options.primary, text)?.toString('hex') ?? ''}`;
    },
    matches(text, fingerprint) {
      const [keyId = '', hex = ''] = fingerprint.split(':');
      const expected = digest(keyId, text);
      const actual = Buffer.from(hex, 'hex');
      return expected !== null && actual.length === expected.length && timingSafeEqual(actual, expected);
    },
  };
}

/** The context of the encrypted secrets of a revision. */
export const secretsContext = (set: SecretsIdentity) =>
  `secrets ${set.tenantId} ${set.deploymentId} ${set.id}`;

/** The context of the encrypted credentials of an integration. */
export const integrationContext = (integration: { id: string; tenantId: string }) =>
  `integration ${integration.tenantId} ${integration.id}`;

/** The context of the encrypted secret of an integration's webhooks. */
export const webhookContext = (integration: { id: string; tenantId: string }) =>
  `webhook ${integration.tenantId} ${integration.id}`;

type SecretsIdentity = Pick<SealedSecrets, 'id' | 'tenantId' | 'deploymentId'>;

/** Encrypts the secrets of a deployment under a new id; null when the deployment has no secrets. */
export function sealSecrets(
  box: SecretBox,
  tenantId: string,
  deploymentId: string,
  secrets: readonly Secret[],
): SealedSecrets | null {
  if (secrets.length === 0) return null;
  const identity = { id: uuidv7(), tenantId, deploymentId };
  const pairs = secrets.map(({ name, value }) => [name, value]);
  return { ...identity, ...box.seal(Buffer.from(JSON.stringify(pairs)), secretsContext(identity)) };
}

/** The secrets in their original order. @throws SecretBoxError */
export function openSecrets(box: SecretBox, set: SealedSecrets | null): Secret[] {
  if (set === null) return [];
  const pairs = JSON.parse(box.open(set.sealed, set.keyId, secretsContext(set)).toString()) as [
    string,
    string,
  ][];
  return pairs.map(([name, value]) => ({ name, value }));
}
