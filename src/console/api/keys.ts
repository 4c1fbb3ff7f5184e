/**
 * Keys of queries. The stream of changes finds the queries that a change concerns by their keys (live/affected.ts), so every query of
 * tenant data uses one of these.
 */

const TENANT = 'tenant';
const DEPLOYMENT = 'deployment';
const FLEET = 'fleet';

/** Something of a tenant that is not one deployment, such as its listeners. */
export const tenantKey = (tenantId: string, ...rest: readonly unknown[]) =>
  [TENANT, tenantId, ...rest] as const;

/** Something of one deployment, such as its revisions. */
export const deploymentKey = (tenantId: string, deploymentId: string, ...rest: readonly unknown[]) =>
  tenantKey(tenantId, DEPLOYMENT, deploymentId, ...rest);

/** A list of deployments. */
export const fleetKey = (tenantId: string, ...rest: readonly unknown[]) =>
  tenantKey(tenantId, FLEET, ...rest);

/** What a key stands for; null: nothing of a tenant. */
export function subjectOf(
  key: readonly unknown[],
): { readonly tenantId: unknown; readonly deploymentId: unknown; readonly isFleet: boolean } | null {
  const [kind, tenantId, part, id] = key;
  if (kind !== TENANT) return null;
  return { tenantId, deploymentId: part === DEPLOYMENT ? id : null, isFleet: part === FLEET };
}
