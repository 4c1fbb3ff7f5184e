import { type Config, ConfigError } from '../config/index.ts';
import { appName } from '../contract/resource/names.ts';
import { uuidv7 } from '../domain/core/id.ts';
import { parseImageReference } from '../domain/kubernetes/image.ts';
import { createRegistryAuthority, type RegistryAuthority } from '../hub/registry/authority.ts';
import { parseSigningKeys, type SigningKey } from '../hub/registry/signing-key.ts';

/**
 * The configured signing keys of the registry. The first key signs. null: no key is configured.
 * @throws ConfigError
 */
export function configuredSigningKeys({ registrySigningKeys }: Config): [SigningKey, ...SigningKey[]] | null {
  if (registrySigningKeys === null) return null;
  try {
    return parseSigningKeys(registrySigningKeys);
  } catch (error) {
    throw new ConfigError([`BERTH_REGISTRY_SIGNING_KEY ${(error as Error).message}`]);
  }
}

/** A deployment with the longest possible names, to check the length of repository names. */
const ANY_DEPLOYMENT = { tenantId: uuidv7(), appName: appName('x'.repeat(128), uuidv7()) };

/**
 * The authority of the registry of the platform. null: the hub does not authorize access to the registry.
 * @throws ConfigError
 */
export function configuredAuthority(config: Config): RegistryAuthority | null {
  const keys = configuredSigningKeys(config);
  if (keys === null) return null;
  const { registry } = config;
  if (registry === null)
    throw new ConfigError(['BERTH_REGISTRY_SIGNING_KEY needs BERTH_REGISTRY, which is not set']);
  const authority = createRegistryAuthority(registry, keys);
  if (parseImageReference(authority.sourceRepositoryOf(ANY_DEPLOYMENT)) === null)
    throw new ConfigError([
      `BERTH_REGISTRY: image names cannot begin with ${registry}; set it to a name such as ` +
        `registry.example.com/apps, in lower case`,
    ]);
  return authority;
}
