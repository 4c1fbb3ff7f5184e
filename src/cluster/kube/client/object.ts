/**
 * Fields that all Kubernetes objects share, in the form of JSON. Times are strings, unlike in the classes of
 * client-node.
 */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ManagedFieldsEntry {
  manager?: string;
  operation?: string;
  subresource?: string;
  apiVersion?: string;
  time?: string;
  fieldsType?: string;
  fieldsV1?: object;
}

export interface ObjectMeta {
  name: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
  managedFields?: ManagedFieldsEntry[];
}

/** The minimum of an object; concrete types add spec, status, data … */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
}

/** An object of any kind, with unknown fields. */
export interface UntypedObject extends KubeObject {
  [field: string]: unknown;
}

/** Name and namespace of one object. `namespace` is absent for cluster-scoped kinds. */
export interface ObjectName {
  namespace?: string;
  name: string;
}

/** Key for caches and queues: `namespace/name`, or `name` for cluster-scoped kinds. */
export function keyOf(object: KubeObject | ObjectName): string {
  const { namespace, name } = 'metadata' in object ? object.metadata : object;
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;
}

/** The inverse of {@link keyOf}. */
export function parseKey(key: string): ObjectName {
  const slash = key.indexOf('/');
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** The owner reference with `controller: true`, if there is one. */
export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((owner) => owner.controller === true);
}

/**
 * Compares two resource versions of one resource type: negative, 0 or positive. Resource versions are increasing
 * decimal integers. This property is part of the API since Kubernetes 1.35 (KEP-5504). Servers with etcd already had
 * the property before. The comparison of length, then text, gives the order of BigInt without allocations. A missing
 * version is older than any other.
 */
export function compareResourceVersions(a: string | undefined, b: string | undefined): number {
  const left = a ?? '';
  const right = b ?? '';
  if (left.length !== right.length) return left.length - right.length;
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/**
 * Whether the pod has ended as a whole, for example after an eviction. No container of an ended pod runs or will run.
 * Kubernetes removes ended pods only when there are thousands, while replacements start.
 */
export const hasEnded = ({ status }: { readonly status?: { readonly phase?: string } }): boolean =>
  status?.phase === 'Failed' || status?.phase === 'Succeeded';
