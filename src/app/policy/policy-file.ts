import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { type Config, ConfigError } from '../../config/index.ts';
import { type Policy, policyFileSchema, resolvePolicy } from '../../domain/policy/policy.ts';

/**
 * The policy of the hosting mode with the changes of the file BERTH_POLICY.
 * @throws ConfigError when the file cannot be read or is not a valid policy
 */
export function loadPolicy(config: Pick<Config, 'hosting' | 'policyFile'>): Policy {
  if (config.policyFile === null) return resolvePolicy(config.hosting);
  const source = `BERTH_POLICY: ${config.policyFile}`;
  let text: string;
  try {
    text = readFileSync(config.policyFile, 'utf8');
  } catch (error) {
    throw new ConfigError([`${source} cannot be read: ${String(error)}`]);
  }
  return parsePolicy(config, text, source);
}

/**
 * The policy of the hosting mode with the changes of a YAML text.
 * @param source origin of the text, for errors
 * @throws ConfigError when the text is not a valid policy
 */
export function parsePolicy(config: Pick<Config, 'hosting'>, text: string, source: string): Policy {
  let content: unknown;
  try {
    content = parse(text) ?? {};
  } catch (error) {
    throw new ConfigError([`${source} cannot be read: ${String(error)}`]);
  }
  const parsed = policyFileSchema.safeParse(content);
  if (!parsed.success) {
    throw new ConfigError(
      parsed.error.issues.map(({ path, message }) => `${source}: ${path.join('.')}: ${message}`),
    );
  }
  if (config.hosting === 'cloud' && parsed.data.security_profiles?.includes('baseline')) {
    throw new ConfigError([
      `${source}: security_profiles: must not contain baseline in cloud mode, because the namespaces of tenants ` +
        'enforce the Pod Security level restricted',
    ]);
  }
  return resolvePolicy(config.hosting, parsed.data);
}
