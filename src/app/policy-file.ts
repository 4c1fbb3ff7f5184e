import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { type Config, ConfigError } from '../config/index.ts';
import { type Policy, policyFileSchema, resolvePolicy } from '../domain/policy/policy.ts';

/**
 * The hosting mode's policy, with the changes of the file of BERTH_POLICY.
 * @throws ConfigError when the file cannot be read, or is none of a policy
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
 * The hosting mode's policy, with the changes of a text.
 * @param source where the text is from, for errors
 * @throws ConfigError when it is no policy
 */
export function parsePolicy(config: Pick<Config, 'hosting'>, text: string, source: string): Policy {
  let content: unknown;
  try {
    content = parse(text) ?? {};
  } catch (error) {
    throw new ConfigError([`${source} cannot be read: ${String(error)}`]);
  }
  const parsed = policyFileSchema.safeParse(content);
  if (parsed.success) return resolvePolicy(config.hosting, parsed.data);
  throw new ConfigError(
    parsed.error.issues.map(({ path, message }) => `${source}: ${path.join('.')}: ${message}`),
  );
}
