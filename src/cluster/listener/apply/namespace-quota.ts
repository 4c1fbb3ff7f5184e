import { maxInCluster, type TenantQuotas } from '../../../domain/policy/tenant-quotas.ts';

/**
 * The ResourceQuota of a tenant's namespace: a second line of defence behind the tenant's quotas, which the API
 * enforces. The ResourceQuota must never reject what the tenant's quotas allow, so it is derived from them. The
 * ResourceQuota does not limit the number of pods, because it limits the requests of pods, and the scale has a separate
 * limit.
 */

/** Limits that do not depend on the tenant's quotas. */
export const FIXED_QUOTA: Readonly<Record<string, string>> = {
  'services.loadbalancers': '0',
  'services.nodeports': '0',
};

/**
 * A tenant's quotas do not include the surge of a rollout. The surge is a quarter of the pods, but at least one pod.
 * When all deployments have one pod each and roll at the same time, the surge doubles the usage.
 */
const WITH_SURGE = 2;
/**
 * A deployment has at most 13 Secrets with environments: of the ten newest revisions, a newer revision, the active
 * revision and the revision that rolls out. A deployment also has two Secrets with database credentials, a pull Secret,
 * and two Secrets for a certificate and its next key. The rest is room for Secrets that are not removed yet.
 */
const SECRETS_OF_ONE = 25;
/** Secrets of an additional host: its certificate, and its next key. Without a quota of hosts, the room above must do. */
const SECRETS_OF_DOMAIN = 2;

/** `spec.hard` of the ResourceQuota. A resource without a tenant quota has no limit. */
export function namespaceQuota({
  deployments,
  cpu,
  memory_mb,
  storage_gi,
  domains,
}: TenantQuotas): Record<string, string> {
  const most = deployments === null ? null : maxInCluster(deployments);
  const entries: [string, string | null][] = [
    ['requests.cpu', cpu === null ? null : `${Math.ceil(cpu * 1000) * WITH_SURGE}m`],
    ['requests.memory', memory_mb === null ? null : `${Math.ceil(memory_mb) * WITH_SURGE}Mi`],
    ['requests.storage', storage_gi === null ? null : `${Math.ceil(storage_gi)}Gi`],
    ['persistentvolumeclaims', most === null ? null : String(most)],
    [
      'count/secrets',
      most === null ? null : String(most * SECRETS_OF_ONE + (domains ?? 0) * SECRETS_OF_DOMAIN),
    ],
  ];
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => entry[1] !== null));
}
