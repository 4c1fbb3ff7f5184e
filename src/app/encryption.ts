import { type Config, ConfigError } from '../config/index.ts';
import type { Logger } from '../domain/core/logger.ts';
import type { Database } from '../hub/store/core/database.ts';
import { type UnusableKey, unusableKeys } from '../hub/store/secrets/sealed-tables.ts';
import { createSecretBox, type SecretBox } from '../hub/store/secrets/secret-box.ts';

/** The configured encryption keys: opened as a box, and held against what the database needs. */

/** What is to be done where no key is configured. */
export const KEYS_MISSING =
  'BERTH_ENCRYPTION_KEYS is not set; make a key with: echo "k1:$(openssl rand -base64 32)"';

/** The box of the configured keys, the first one sealing; null: none is configured. */
export function configuredBox({ encryptionKeys }: Config): SecretBox | null {
  const [primary] = encryptionKeys;
  return primary === undefined ? null : createSecretBox({ keys: encryptionKeys, primary: primary.id });
}

function describe({ table, keyId, problem }: UnusableKey): string {
  const what =
    problem === 'missing'
      ? `BERTH_ENCRYPTION_KEYS has no key ${keyId}`
      : `BERTH_ENCRYPTION_KEYS has other bytes for the key ${keyId} than those in use`;
  return `${what}: rows of ${table} are sealed with it; next: put that key back (after the first one, if it is an old one), or, if it is gone for good, name it in BERTH_LOST_ENCRYPTION_KEYS`;
}

/**
 * Refuses to start with keys that do not open what is stored: served so, secrets would seem to be gone.
 * A key that is declared lost is warned of instead.
 * @throws ConfigError that names every such key
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
      'an encryption key is declared lost: what it sealed cannot be read until it is sent anew',
    );
  }
}
