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

/** API coordinates of the custom resource that represents a task. */
export const DEPLOYMENT_TASK = {
  group: MANAGED_DEPLOYMENT.group,
  version: MANAGED_DEPLOYMENT.version,
  apiVersion: MANAGED_DEPLOYMENT.apiVersion,
  kind: 'DeploymentTask',
  plural: 'deploymenttasks',
  singular: 'deploymenttask',
  shortName: 'mtask',
} as const;

/** Maximum length of metadata.name of a task. Its Job has the same name, and the pod of the Job has a longer one. */
export const MAX_TASK_NAME = 57;

/**
 * Maximum length of the name of a CronJob. Kubernetes allows 52 characters. The Jobs have this name with a hyphen and the time in minutes (8
 * digits until the year 2160), and the task of a run has the name of its Job.
 */
export const MAX_CRON_JOB_NAME = MAX_TASK_NAME - 9;

/** observedGeneration of a resource that no operator has observed. The API server adds it to a missing status. */
export const NOT_OBSERVED = -1;

/** Maximum length of metadata.name. With the longest suffix (`-orchestrator`) it still fits into a label value (63 characters). */
export const MAX_APP_NAME = 49;

/** Maximum number of hosts in a status. Berth creates at most two route objects for each of at most 21 hosts. */
export const MAX_ROUTE_HOSTS = 64;

/** Maximum number of symptoms in a status. */
export const MAX_SYMPTOMS = 16;
