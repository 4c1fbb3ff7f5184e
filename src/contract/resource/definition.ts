/** API coordinates of the custom resource, the contract between control plane and data plane. */
export const MANAGED_DEPLOYMENT = {
  group: 'berth.dev',
  version: 'v1alpha1',
  apiVersion: 'berth.dev/v1alpha1',
  kind: 'ManagedDeployment',
  plural: 'manageddeployments',
  singular: 'manageddeployment',
  shortName: 'mdep',
} as const;

/** observedGeneration of a resource that no operator has observed. The API server adds it to a missing status. */
export const NOT_OBSERVED = -1;

/** Maximum length of metadata.name. With the longest suffix (`-orchestrator`) it still fits into a label value (63 characters). */
export const MAX_APP_NAME = 49;

/** Maximum number of hosts in a status. Berth creates at most two route objects for each of at most 21 hosts. */
export const MAX_ROUTE_HOSTS = 64;

/** Maximum number of symptoms in a status. */
export const MAX_SYMPTOMS = 16;
