import { parseArgs } from 'node:util';
import { configuredSigningKeys } from '../app/registry-authority.ts';
import type { Config } from '../config/index.ts';
import type { Logger } from '../domain/core/logger.ts';
import { registryConfig } from '../hub/registry/registry-config.ts';
import { generateSigningKey, keySet, parseSigningKeys } from '../hub/registry/signing-key.ts';
import { openDatabase } from '../hub/store/core/database.ts';
import { checkMigrated } from '../hub/store/core/migrate.ts';
import { pendingPullSecrets, redeliverPullSecrets } from '../hub/store/secrets/pull-secrets.ts';
import { UsageError } from './usage-error.ts';

/** `berth keys registry`, `berth keys rotate-registry`: the keys with which the platform's registry verifies the hub. */

export const REGISTRY_HELP = `usage: berth keys registry [--current] [--json]
Creates a key for BERTH_REGISTRY_SIGNING_KEY and prints it once. The command also prints what the registry needs: the
key set with this key and the configured keys, and the part of the registry's configuration that names the key set
(docs/registry.md).

  --current   create no key; print the key set of the configured keys
  --json      print {"signing_key", "jwks", "config"} as JSON

usage: berth keys rotate-registry [--dry-run] [--json]
Makes every listener write the pull Secrets of its cluster again, with the first key of BERTH_REGISTRY_SIGNING_KEY. No pod
is replaced.

  1. Run berth keys registry. Give the registry the printed key set, and restart the registry.
  2. Put the new key before the old one in BERTH_REGISTRY_SIGNING_KEY of every API process.
  3. Run this command. Then run this command with --dry-run until no deployment is left to wait for.
  4. Remove the old key from the setting, and give the registry the key set of berth keys registry --current.

  --dry-run   only print the number of deployments that the command waits for
  --json      print {"redelivered", "pending"} as JSON`;

/** Parses boolean options, and rejects all other arguments. */
function switches<const Name extends string>(
  args: readonly string[],
  names: readonly Name[],
): Record<Name, boolean> {
  const options = Object.fromEntries(
    names.map((name) => [name, { type: 'boolean', default: false }] as const),
  );
  return parseArgs({ args: [...args], options }).values as Record<Name, boolean>;
}

/**
 * `berth keys registry …`
 * @throws UsageError, ConfigError
 */
export function registryKey(config: Config, args: readonly string[]): void {
  const { current, json } = switches(args, ['current', 'json']);
  const configured = configuredSigningKeys(config) ?? [];
  if (current && configured.length === 0)
    throw new UsageError('BERTH_REGISTRY_SIGNING_KEY is not set: create a key with berth keys registry');
  const signingKey = current ? null : generateSigningKey();
  const made = signingKey === null ? [] : parseSigningKeys(signingKey);
  const jwks = keySet([...made, ...configured]);
  const registry = registryConfig(config.registry, config.publicUrl);
  if (json) {
    console.log(JSON.stringify({ signing_key: signingKey, jwks, config: registry }));
    return;
  }
  const parts = [
    ...(signingKey === null
      ? []
      : ['# BERTH_REGISTRY_SIGNING_KEY: store it, it is not shown again', signingKey]),
    '# the file that the setting jwks of the registry names',
    JSON.stringify(jwks, null, 2),
    '',
    "# in the registry's configuration",
    registry,
  ];
  console.log(parts.join('\n'));
}

/**
 * `berth keys rotate-registry …`
 * @throws UsageError, ConfigError, StoreError
 */
export async function rotateRegistry(config: Config, logger: Logger, args: readonly string[]): Promise<void> {
  const { 'dry-run': dryRun, json } = switches(args, ['dry-run', 'json']);
  if (config.databaseUrl === null)
    throw new UsageError('DATABASE_URL is not set: it names the database of the deployments');
  if (configuredSigningKeys(config) === null)
    throw new UsageError('BERTH_REGISTRY_SIGNING_KEY is not set: create a key with berth keys registry');
  const database = openDatabase({ url: config.databaseUrl, poolSize: 1, logger });
  try {
    await checkMigrated(database);
    const redelivered = dryRun ? 0 : await database.platform.transaction(redeliverPullSecrets);
    const pending = await database.platform.read(pendingPullSecrets);
    const sent = dryRun ? '' : `Deployments that are sent to the listeners again: ${redelivered}. `;
    console.log(
      json
        ? JSON.stringify({ redelivered, pending })
        : `${sent}Deployments whose pull Secret still has the old key: ` + `${pending}.`,
    );
  } finally {
    await database.close();
  }
}
