import type { ClusterObject } from '../api/types.ts';
import type { Search } from '../app/search.ts';

/** Which object the URL selects. */

export type ObjectKind = ClusterObject['kind'];
/** Secrets are never read. */
export type ReadKind = Exclude<ObjectKind, 'Secret'>;

/** What identifies an object of a deployment. */
export interface ObjectRef {
  readonly kind: string;
  readonly name: string;
}

export interface Selection {
  /** The object as `KIND/NAME`. Absent: none. */
  readonly object?: string;
}

/** Such as `Pod/shop-1`. */
export const keyOf = ({ kind, name }: ObjectRef): string => `${kind}/${name}`;

export function selectionOf(search: Search | Selection): Selection {
  const { object } = { ...search };
  return object === undefined || object === '' ? {} : { object };
}

/** The object that a URL names; null: it names none. */
export function refOf({ object = '' }: Selection): ObjectRef | null {
  const [kind = '', ...rest] = object.split('/');
  const name = rest.join('/');
  return kind === '' || name === '' ? null : { kind, name };
}

/** The kinds that can be requested, with their names in commands of kubectl. */
const READ_KINDS: Readonly<Record<ReadKind, string>> = {
  ManagedDeployment: 'mdep',
  Deployment: 'deployment',
  ReplicaSet: 'replicaset',
  StatefulSet: 'statefulset',
  Pod: 'pod',
  PersistentVolumeClaim: 'pvc',
  Service: 'service',
  Ingress: 'ingress',
  HTTPRoute: 'httproute',
  HorizontalPodAutoscaler: 'hpa',
  PodDisruptionBudget: 'pdb',
  ServiceAccount: 'serviceaccount',
  NetworkPolicy: 'networkpolicy',
};

/** Whether objects of a kind can be requested. A URL can name any kind. */
export const isReadKind = (kind: string): kind is ReadKind => Object.hasOwn(READ_KINDS, kind);

/** The name of a kind in commands of kubectl. */
export const kubectlKind = (kind: ReadKind): string => READ_KINDS[kind];
