import { maxInCluster, type TenantQuotas } from '../../../domain/policy/tenant-quotas.ts';

/**
 * The ResourceQuota of a tenant's namespace: the second line behind the tenant's quotas, which the API holds against
 * every change. It must never refuse what those allow, so it follows from them. Pods are not counted: what they request
 * is, and scales have caps.
 */

/** Whatever the tenant's quotas are. */
export const FIXED_QUOTA: Readonly<Record<string, string>> = {
  'services.loadbalancers': '0',
  'services.nodeports': '0',
};

/**
 * A tenant's quotas are without the surplus of a rollout. That is a quarter of the pods, but one at least: of
 * deployments with one pod each, all of which change at once, as much again.
 */
const WITH_SURGE = 2;
/**
 * At most 13 environments (of the ten newest revisions, a newer one, those that serve and roll), the database's
 * credentials and their copy, one to pull with, a certificate and its next key; and room for what is not removed yet.
 */
const SECRETS_OF_ONE = 25;

/** `spec.hard` as Kubernetes names it; what the tenant's quotas leave open is left open. */
export function namespaceQuota({
  deployments,
  cpu,
  memory_mb,
  storage_gi,
}: TenantQuotas): Record<string, string> {
  const most = deployments === null ? null : maxInCluster(deployments);
  const entries: [string, string | null][] = [
    ['requests.cpu', cpu === null ? null : `${Math.ceil(cpu * 1000) * WITH_SURGE}m`],
    ['requests.memory', memory_mb === null ? null : `${Math.ceil(memory_mb) * WITH_SURGE}Mi`],
    ['requests.storage', storage_gi === null ? null : `${Math.ceil(storage_gi)}Gi`],
    ['persistentvolumeclaims', most === null ? null : String(most)],
    ['count/secrets', most === null ? null : String(most * SECRETS_OF_ONE)],
  ];
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => entry[1] !== null));
}
