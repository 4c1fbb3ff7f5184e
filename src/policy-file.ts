import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { type Config, ConfigError } from './config.ts';
import { type Policy, policyFileSchema, resolvePolicy } from './domain/policy.ts';

/**
 * The hosting mode's policy, with the changes of the file of BERTH_POLICY.
 * @throws ConfigError when the file cannot be read, or is none of a policy
 */
export function loadPolicy(config: Pick<Config, 'hosting' | 'policyFile'>): Policy {
  if (config.policyFile === null) return resolvePolicy(config.hosting);
  let content: unknown;
  try {
    content = parse(readFileSync(config.policyFile, 'utf8')) ?? {};
  } catch (error) {
    throw new ConfigError([`BERTH_POLICY: ${config.policyFile} cannot be read: ${String(error)}`]);
  }
  const parsed = policyFileSchema.safeParse(content);
  if (parsed.success) return resolvePolicy(config.hosting, parsed.data);
  throw new ConfigError(
    parsed.error.issues.map(
      ({ path, message }) => `BERTH_POLICY: ${config.policyFile}: ${path.join('.')}: ${message}`,
    ),
  );
}
