import { LABELS, MANAGED_BY } from '../../contract/resource/names.ts';
import { INPUTS_HASH_LABEL } from '../../workloads/labels.ts';
import { type KnownKind, RESOURCES, type Resource } from '../kube/client/resources.ts';

/** How the operator watches and removes one kind of child object. */
export interface ChildKind {
  readonly resource: Resource;
  /** Only objects with these labels are watched, so memory grows with Berth's objects and not with the cluster. */
  readonly labelSelector: string;
  /** Whether an object is deleted when it is no longer desired. Always false for kinds that hold data. */
  readonly removable: boolean;
  /** Whether the kind belongs to an API that a cluster may not have. */
  readonly optional: boolean;
}

const OURS = `${LABELS.managedBy}=${MANAGED_BY}`;

function child(kind: KnownKind, more: Partial<ChildKind> = {}): ChildKind {
  return { resource: RESOURCES[kind], labelSelector: OURS, removable: true, optional: false, ...more };
}

/** Every kind of child that is watched. Secrets are never watched. */
export const CHILD_KINDS = {
  Deployment: child('Deployment'),
  StatefulSet: child('StatefulSet'),
  Service: child('Service'),
  ServiceAccount: child('ServiceAccount'),
  HorizontalPodAutoscaler: child('HorizontalPodAutoscaler'),
  PodDisruptionBudget: child('PodDisruptionBudget'),
  NetworkPolicy: child('NetworkPolicy'),
  Ingress: child('Ingress'),
  HTTPRoute: child('HTTPRoute', { optional: true }),
  PersistentVolumeClaim: child('PersistentVolumeClaim', { removable: false }),
  // The StatefulSet controller also creates ControllerRevisions, with the labels of the pods.
  ControllerRevision: child('ControllerRevision', {
    removable: false,
    labelSelector: `${OURS},${INPUTS_HASH_LABEL}`,
  }),
  Pod: child('Pod', { removable: false }),
} as const satisfies Partial<Record<KnownKind, ChildKind>>;

export type ChildKindName = keyof typeof CHILD_KINDS;

export const CHILD_KIND_NAMES = Object.keys(CHILD_KINDS) as ChildKindName[];

/** Kinds of APIs that a cluster may not have, or that may be installed or removed later. */
export const OPTIONAL_KINDS = CHILD_KIND_NAMES.filter((kind) => CHILD_KINDS[kind].optional);

/** Kinds that expose the app outside the cluster. */
export const ROUTE_KINDS = ['Ingress', 'HTTPRoute'] as const satisfies readonly ChildKindName[];

export function isRouteKind(kind: string): boolean {
  return (ROUTE_KINDS as readonly string[]).includes(kind);
}

/** How `kind` is watched; undefined for kinds that are not watched, such as Secret. */
export function childKindOf(kind: string): ChildKind | undefined {
  return Object.hasOwn(CHILD_KINDS, kind) ? CHILD_KINDS[kind as ChildKindName] : undefined;
}
