import type { Command } from 'commander';
import { SCOPES, TENANT_SCOPES } from '../../domain/core/scopes.ts';
import { command, listOption, switchOption, valueOption, wholeNumber } from '../command/command.ts';
import { FORMATS_WITHOUT_NAME, outputOption } from '../command/output.ts';
import { expiresOption } from '../command/time-options.ts';

/** `berth keys`: keys in the database and in the settings of the hub. */

const CREATE = `Berth stores only the hash of the key, so the key is printed once. Needs DATABASE_URL.
With -o json: {"api_key", "api_key_id", "tenant_id", "scopes", "expires_at"}.`;

const ROTATE_ENCRYPTION = `Re-encrypts all values that are encrypted with another key, with the first key of BERTH_ENCRYPTION_KEYS. Then the command
prints which keys are still needed. The API can run during the rotation. If you interrupt the command, run it again to
continue.

  1. Append the new key to BERTH_ENCRYPTION_KEYS of every API process. All processes can then decrypt with the new key.
  2. Move the new key to the first place in every API process. The processes then encrypt with the new key.
  3. Run this command with the same setting.
  4. Remove the old key when this command prints that the old key is no longer needed.`;

const REGISTRY = `The key is for BERTH_REGISTRY_SIGNING_KEY, and is printed once. The command also prints what the registry needs: the key set
with this key and the configured keys, and the part of the registry's configuration that names the key set
(docs/registry.md). With -o json: {"signing_key", "jwks", "config"}.`;

const ROTATE_REGISTRY = `Makes every listener write the pull Secrets of its cluster again, with the first key of BERTH_REGISTRY_SIGNING_KEY. No pod
is replaced.

  1. Run berth keys registry. Give the registry the printed key set, and restart the registry.
  2. Put the new key before the old one in BERTH_REGISTRY_SIGNING_KEY of every API process.
  3. Run this command. Then run this command with --dry-run until no deployment is left to wait for.
  4. Remove the old key from the setting, and give the registry the key set of berth keys registry --current.

With -o json: {"redelivered", "pending"}.`;

const output = () => outputOption(FORMATS_WITHOUT_NAME);

/** The settings are read when the command runs. */
const session = async () => (await import('./session.ts')).adminSession();

const create = () =>
  command('create', 'create an API key and print it once', CREATE)
    .addOption(
      valueOption(
        '--tenant <name>',
        'tenant of the key. The tenant is created if it does not exist',
      ).conflicts('platform'),
    )
    .option(
      '--platform',
      "create a key of the platform, for the platform's own listener: scope listeners:run",
    )
    .addOption(valueOption('--name <name>', 'name of the key, such as its purpose').makeOptionMandatory())
    .addOption(
      listOption(
        '--scopes <a,b>',
        `scopes of the key, separated by commas. Default: ${TENANT_SCOPES.join(', ')} (with --platform: ` +
          'listeners:run). admin gives access to all tenants, and is never a default',
        SCOPES,
      ),
    )
    .addOption(expiresOption())
    .addOption(output())
    .action(async (options) => {
      const { createKey } = await import('./keys-create.ts');
      await createKey(await session(), options);
    });

const rotateEncryption = () =>
  command('rotate-encryption', 'encrypt all secrets again with the first encryption key', ROTATE_ENCRYPTION)
    .addOption(switchOption('--dry-run', 'only print which keys are in use').conflicts('batch'))
    .addOption(
      valueOption('--batch <n>', 'rows in one transaction', wholeNumber('--batch', 1, 1000)).default(100),
    )
    .addOption(output())
    .action(async (options) => {
      const { rotateEncryption: rotate } = await import('./keys-rotate.ts');
      await rotate(await session(), options);
    });

const registry = () =>
  command('registry', 'create a signing key of the registry, and print what the registry needs', REGISTRY)
    .option('--current', 'create no key; print the key set of the configured keys', false)
    .addOption(output())
    .action(async (options) => {
      const { registryKey } = await import('./keys-registry.ts');
      await registryKey((await session()).config, options);
    });

const rotateRegistry = () =>
  command('rotate-registry', 'write the pull Secrets again with the first signing key', ROTATE_REGISTRY)
    .option('--dry-run', 'only print the number of deployments that the command waits for', false)
    .addOption(output())
    .action(async (options) => {
      const { rotateRegistry: rotate } = await import('./keys-registry.ts');
      await rotate(await session(), options);
    });

export function buildKeys(made: Command): void {
  for (const build of [create, rotateEncryption, registry, rotateRegistry]) made.addCommand(build());
}
