import type { KubeObject, ObjectName } from './object.ts';

/** Coordinates of a kind in the REST API. `group` is '' for the core group. */
export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

function resource(apiVersion: string, kind: string, plural: string, namespaced = true): Resource {
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/', 2) : ['', apiVersion];
  return Object.freeze({ group: group ?? '', version: version ?? '', kind, plural, namespaced });
}

/** Every kind that Berth reads or writes. */
export const RESOURCES = {
  ManagedDeployment: resource('berth.dev/v1alpha1', 'ManagedDeployment', 'manageddeployments'),
  DeploymentTask: resource('berth.dev/v1alpha1', 'DeploymentTask', 'deploymenttasks'),

  Deployment: resource('apps/v1', 'Deployment', 'deployments'),
  StatefulSet: resource('apps/v1', 'StatefulSet', 'statefulsets'),
  ReplicaSet: resource('apps/v1', 'ReplicaSet', 'replicasets'),
  ControllerRevision: resource('apps/v1', 'ControllerRevision', 'controllerrevisions'),

  Service: resource('v1', 'Service', 'services'),
  Secret: resource('v1', 'Secret', 'secrets'),
  ConfigMap: resource('v1', 'ConfigMap', 'configmaps'),
  ServiceAccount: resource('v1', 'ServiceAccount', 'serviceaccounts'),
  PersistentVolumeClaim: resource('v1', 'PersistentVolumeClaim', 'persistentvolumeclaims'),
  Pod: resource('v1', 'Pod', 'pods'),
  Event: resource('v1', 'Event', 'events'),
  PodMetrics: resource('metrics.k8s.io/v1beta1', 'PodMetrics', 'pods'),
  ResourceQuota: resource('v1', 'ResourceQuota', 'resourcequotas'),
  LimitRange: resource('v1', 'LimitRange', 'limitranges'),
  Namespace: resource('v1', 'Namespace', 'namespaces', false),

  Lease: resource('coordination.k8s.io/v1', 'Lease', 'leases'),
  HorizontalPodAutoscaler: resource('autoscaling/v2', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers'),
  PodDisruptionBudget: resource('policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets'),
  Ingress: resource('networking.k8s.io/v1', 'Ingress', 'ingresses'),
  NetworkPolicy: resource('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies'),
  HTTPRoute: resource('gateway.networking.k8s.io/v1', 'HTTPRoute', 'httproutes'),
  Certificate: resource('cert-manager.io/v1', 'Certificate', 'certificates'),
  Job: resource('batch/v1', 'Job', 'jobs'),
  CronJob: resource('batch/v1', 'CronJob', 'cronjobs'),
  StorageClass: resource('storage.k8s.io/v1', 'StorageClass', 'storageclasses', false),
  CustomResourceDefinition: resource(
    'apiextensions.k8s.io/v1',
    'CustomResourceDefinition',
    'customresourcedefinitions',
    false,
  ),
  SelfSubjectAccessReview: resource(
    'authorization.k8s.io/v1',
    'SelfSubjectAccessReview',
    'selfsubjectaccessreviews',
    false,
  ),
} as const satisfies Record<string, Resource>;

export type KnownKind = keyof typeof RESOURCES;

const BY_API_VERSION_AND_KIND = new Map<string, Resource>(
  Object.values(RESOURCES).map((entry) => [`${apiVersionOf(entry)}/${entry.kind}`, entry]),
);

/** `v1`, `apps/v1` …: the apiVersion of the kind's objects. */
export function apiVersionOf({ group, version }: Resource): string {
  return group === '' ? version : `${group}/${version}`;
}

/** The resource of an object by its apiVersion and kind. Throws for a kind that is not in {@link RESOURCES}. */
export function resourceOf(object: Pick<KubeObject, 'apiVersion' | 'kind'>): Resource {
  const found = BY_API_VERSION_AND_KIND.get(`${object.apiVersion}/${object.kind}`);
  if (found === undefined) {
    throw new Error(
      `failed to find the REST path: ${object.apiVersion} ${object.kind} is not a known resource`,
    );
  }
  return found;
}

/**
 * Path of a collection (without name) or of one object, with an optional subresource. A namespaced collection without
 * namespace covers all namespaces. Throws when a single namespaced object has no namespace, because the server would
 * return a confusing 404.
 */
export function resourcePath(
  target: Resource,
  at: Partial<ObjectName> & { subresource?: string } = {},
): string {
  const root = target.group === '' ? `/api/${target.version}` : `/apis/${target.group}/${target.version}`;
  if (target.namespaced && at.name !== undefined && !at.namespace) {
    throw new Error(`failed to build the REST path: ${target.kind} ${at.name} needs a namespace`);
  }
  const scope = target.namespaced && at.namespace ? `/namespaces/${encodeURIComponent(at.namespace)}` : '';
  const name = at.name === undefined ? '' : `/${encodeURIComponent(at.name)}`;
  const subresource = at.subresource === undefined ? '' : `/${at.subresource}`;
  return `${root}${scope}/${target.plural}${name}${subresource}`;
}
