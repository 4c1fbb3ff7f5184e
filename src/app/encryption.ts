import { type Config, ConfigError } from '../config/index.ts';
import type { Logger } from '../domain/core/logger.ts';
import type { Database } from '../hub/store/core/database.ts';
import { type UnusableKey, unusableKeys } from '../hub/store/secrets/sealed-tables.ts';
import { createSecretBox, type SecretBox } from '../hub/store/secrets/secret-box.ts';

/** Loads the configured encryption keys and checks that they decrypt what the database holds. */

/** The next step when no key is configured. */
export const KEYS_MISSING =
  'BERTH_ENCRYPTION_KEYS is not set; create a key with: echo "k1:$(openssl rand -base64 32)"';

/** The configured keys. The first key encrypts. null: no key is configured. */
export function configuredBox({ encryptionKeys }: Config): SecretBox | null {
  const [primary] = encryptionKeys;
  return primary === undefined ? null : createSecretBox({ keys: encryptionKeys, primary: primary.id });
}

function describe({ table, keyId, problem }: UnusableKey): string {
  const what =
    problem === 'missing'
      ? `BERTH_ENCRYPTION_KEYS has no key ${keyId}`
      : `BERTH_ENCRYPTION_KEYS has different bytes for the key ${keyId}`;
  return (
    `${what}: rows of the table ${table} are encrypted with this key; next: put the key back (an old key: after ` +
    `the first key), or, if the key is lost, name it in BERTH_LOST_ENCRYPTION_KEYS`
  );
}

/**
 * Rejects a start with keys that cannot decrypt the stored data. Without this check, clients would see secrets as
 * missing. A key that is declared lost causes a warning instead.
 * @throws ConfigError that names every missing key
 */
export async function checkEncryptionKeys(
  database: Database,
  box: SecretBox,
  { lostEncryptionKeys }: Config,
  logger: Logger,
): Promise<void> {
  const unusable = await database.platform.read((reader) => unusableKeys(reader, box));
  const isLost = ({ keyId }: UnusableKey) => lostEncryptionKeys.includes(keyId);
  const problems = unusable.filter((key) => !isLost(key)).map(describe);
  if (problems.length > 0) throw new ConfigError(problems);
  for (const { table, keyId } of unusable) {
    logger.warn(
      { table, keyId },
      'an encryption key is declared lost: values that were encrypted with it cannot be read until they are set again',
    );
  }
}
