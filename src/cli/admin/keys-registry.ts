import { configuredSigningKeys } from '../../app/registry-authority.ts';
import type { Config } from '../../config/index.ts';
import { registryConfig } from '../../hub/registry/registry-config.ts';
import { generateSigningKey, keySet, parseSigningKeys } from '../../hub/registry/signing-key.ts';
import { pendingPullSecrets, redeliverPullSecrets } from '../../hub/store/secrets/pull-secrets.ts';
import { type Format, printed } from '../command/output.ts';
import { UsageError } from '../command/usage-error.ts';
import { withDatabase } from './database.ts';
import type { AdminSession } from './session.ts';

/** `berth keys registry`, `berth keys rotate-registry`: the keys with which the platform's registry verifies the hub. */

/**
 * `berth keys registry …`
 * @throws UsageError, ConfigError
 */
export async function registryKey(
  config: Config,
  { current, output }: { current: boolean; output: Format },
): Promise<void> {
  const configured = configuredSigningKeys(config) ?? [];
  if (current && configured.length === 0)
    throw new UsageError('BERTH_REGISTRY_SIGNING_KEY is not set: create a key with berth keys registry');
  const signingKey = current ? null : generateSigningKey();
  const made = signingKey === null ? [] : parseSigningKeys(signingKey);
  const jwks = keySet([...made, ...configured]);
  const registry = registryConfig(config.registry, config.publicUrl);
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
  const answer = { signing_key: signingKey, jwks, config: registry };
  await printed(output, answer, { table: () => parts.join('\n') });
}

/**
 * `berth keys rotate-registry …`
 * @throws UsageError, ConfigError, StoreError
 */
export async function rotateRegistry(
  session: AdminSession,
  { dryRun, output }: { dryRun: boolean; output: Format },
): Promise<void> {
  if (configuredSigningKeys(session.config) === null)
    throw new UsageError('BERTH_REGISTRY_SIGNING_KEY is not set: create a key with berth keys registry');
  await withDatabase(session, 'it names the database of the deployments', async (database) => {
    const redelivered = dryRun ? 0 : await database.platform.transaction(redeliverPullSecrets);
    const pending = await database.platform.read(pendingPullSecrets);
    const sent = dryRun ? '' : `Deployments that are sent to the listeners again: ${redelivered}. `;
    const text = `${sent}Deployments whose pull Secret still has the old key: ${pending}.`;
    await printed(output, { redelivered, pending }, { table: () => text });
  });
}
