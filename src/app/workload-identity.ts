import { type Config, ConfigError } from '../config/index.ts';
import type { WorkloadVerifier } from '../domain/access/workload-verifier.ts';
import type { Policy } from '../domain/policy/policy.ts';

/** The verifier of tokens of pipelines, from the settings. */

const AUDIENCE_MISSING =
  'BERTH_PUBLIC_URL is not set: tokens of access.workload_issuers (BERTH_POLICY) must have it as their audience';

/**
 * Creates the verifier. jose is loaded with the first token, because most processes verify none.
 * @returns null: the API has no public URL, so no token can have the right audience
 * @throws ConfigError when the policy has issuers, but the API has no public URL
 */
export function configuredWorkloads(
  { publicUrl, rendering }: Pick<Config, 'publicUrl' | 'rendering'>,
  policy: Policy,
): WorkloadVerifier | null {
  if (publicUrl === null) {
    if (policy.access.workload_issuers.length > 0) throw new ConfigError([AUDIENCE_MISSING]);
    return null;
  }
  // Keys are read from public addresses only, whatever git hosts may have.
  const addresses = { allowPrivate: false, closedNetworks: rendering.closedNetworks ?? [] };
  let verifier: Promise<WorkloadVerifier> | null = null;
  const load = async (): Promise<WorkloadVerifier> => {
    const [{ createWorkloadVerifier }, { keyReader }] = await Promise.all([
      import('../hub/workload-identity/verifier.ts'),
      import('../hub/workload-identity/read-keys.ts'),
    ]);
    return createWorkloadVerifier(publicUrl, keyReader(addresses));
  };
  return {
    async verify(token, issuers, now) {
      verifier ??= load();
      return (await verifier).verify(token, issuers, now);
    },
  };
}
