import { ConfigError } from './config-error.ts';

/**
 * The keys for secrets at rest. The first key encrypts.
 * @throws ConfigError when a key is malformed or an id is given twice
 */
export function parseEncryptionKeys(text: string | undefined): { id: string; key: Buffer }[] {
  const keys = (text ?? '')
    .split(',')
    .filter((part) => part.trim() !== '')
    .map((part) => {
      const [id = '', encoded = ''] = part.trim().split(/:(.*)/s);
      const key = Buffer.from(encoded, 'base64');
      if (!/^[A-Za-z0-9_-]{1,32}$/.test(id) || key.length !== 32) {
        throw new ConfigError([
          'BERTH_ENCRYPTION_KEYS: each key is id:base64 of 32 bytes; create one with: echo "k1:$(openssl rand -base64 32)"',
        ]);
      }
      return { id, key };
    });
  const twice = keys.find(({ id }, index) => keys.findIndex((other) => other.id === id) !== index);
  if (twice !== undefined) {
    throw new ConfigError([
      `BERTH_ENCRYPTION_KEYS: the id ${twice.id} is given twice; each key needs a different id`,
    ]);
  }
  return keys;
}
