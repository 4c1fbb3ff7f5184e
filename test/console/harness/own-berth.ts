import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePorts } from '../../cluster/ports.ts';
import { type BerthProcess, startOnPort } from '../../installation/berth-process.ts';
import type { TestProvider } from '../../integration/harness/identity-provider.ts';
import { uniqueName } from '../../integration/harness/namespaces.ts';
import type { ConsoleStack } from './stack.ts';

/** API processes with other settings than the shared Berth, on its database. */

/** Starts an API process at a port of its own, which is also its public URL. */
export async function startOwnBerth(
  { settings, stateDir }: ConsoleStack,
  name: string,
  more: Readonly<Record<string, string>>,
): Promise<{ berth: BerthProcess; url: string }> {
  const [port = 0] = await freePorts(1);
  const url = `http://localhost:${port}`;
  const own = { ...settings, BERTH_PORT: String(port), BERTH_PUBLIC_URL: url, ...more };
  return { berth: await startOnPort({ stateDir, role: 'api', name, settings: own }), url };
}

/** Settings of API processes behind a proxy at `url`, where people sign in with the provider. @param groups of the policy file */
export function signInSettings(
  { settings, stateDir }: ConsoleStack,
  { url, provider, groups }: { url: string; provider: TestProvider; groups: readonly object[] },
): Record<string, string> {
  const policy = join(stateDir, `${uniqueName('policy')}.yaml`);
  // JSON is YAML.
  writeFileSync(policy, JSON.stringify({ access: { groups } }));
  return {
    ...settings,
    BERTH_PORT: '0',
    BERTH_PUBLIC_URL: url,
    BERTH_POLICY: policy,
    BERTH_OIDC_ISSUER: provider.issuer,
    BERTH_OIDC_CLIENT_ID: provider.clientId,
    BERTH_OIDC_CLIENT_SECRET: provider.clientSecret,
  };
}
