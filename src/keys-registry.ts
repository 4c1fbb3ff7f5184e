import { parseArgs } from 'node:util';
import type { Config } from './config.ts';
import type { Logger } from './domain/logger.ts';
import { registryConfig } from './registry/registry-config.ts';
import { generateSigningKey, keySet, parseSigningKeys } from './registry/signing-key.ts';
import { configuredSigningKeys } from './registry-authority.ts';
import { openDatabase } from './store/database.ts';
import { checkMigrated } from './store/migrate.ts';
import { pendingPullSecrets, redeliverPullSecrets } from './store/pull-secrets.ts';
import { UsageError } from './usage-error.ts';

/** `berth keys registry`, `berth keys rotate-registry`: the keys by which the platform's registry believes the hub. */

export const REGISTRY_HELP = `usage: berth keys registry [--current] [--json]
Makes a key for BERTH_REGISTRY_SIGNING_KEY and prints it, once, with what the registry needs: the key set of this key
and of those that are configured, and the part of its configuration that names it (docs/registry.md).

  --current   make no key; print what the registry needs of those that are configured
  --json      print {"signing_key", "jwks", "config"} as JSON

usage: berth keys rotate-registry [--dry-run] [--json]
Has every listener look at the Secrets with which its cluster pulls, so that they are under the first key of
BERTH_REGISTRY_SIGNING_KEY. No pod is replaced for it.

  1. berth keys registry: give the registry the printed key set, and restart it.
  2. Put the new key before the old one in BERTH_REGISTRY_SIGNING_KEY of every API process.
  3. Run this command; run it with --dry-run until it says that no deployment is waited for.
  4. Remove the old key from the setting, give the registry the key set of berth keys registry --current.

  --dry-run   only say how many deployments are waited for
  --json      print {"redelivered", "pending"} as JSON`;

/** Whether the words hold these switches, and nothing else. */
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
    throw new UsageError('BERTH_REGISTRY_SIGNING_KEY is not set: make a key with berth keys registry');
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
      : ['# BERTH_REGISTRY_SIGNING_KEY: keep it, it is not shown again', signingKey]),
    '# the file that the registry finds under jwks',
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
    throw new UsageError('DATABASE_URL is not set: in which database are the deployments?');
  if (configuredSigningKeys(config) === null)
    throw new UsageError('BERTH_REGISTRY_SIGNING_KEY is not set: make a key with berth keys registry');
  const database = openDatabase({ url: config.databaseUrl, poolSize: 1, logger });
  try {
    await checkMigrated(database);
    const redelivered = dryRun ? 0 : await database.platform.transaction(redeliverPullSecrets);
    const pending = await database.platform.read(pendingPullSecrets);
    const told = dryRun ? '' : `Given to the listeners again: ${redelivered}. `;
    console.log(
      json ? JSON.stringify({ redelivered, pending }) : `${told}Deployments that are waited for: ${pending}.`,
    );
  } finally {
    await database.close();
  }
}
