import { LABELS, MANAGED_BY } from '../../contract/resource/names.ts';
import { INPUTS_HASH_LABEL } from '../../workloads/labels.ts';
import { type KnownKind, RESOURCES, type Resource } from '../kube/client/resources.ts';

/** What the operator does with one kind of object beside the custom resource. */
export interface ChildKind {
  readonly resource: Resource;
  /** Only what carries these labels is watched: memory grows with Berth's objects, not with the cluster's. */
  readonly labelSelector: string;
  /** Deleted when nothing wants it any more. Never what holds data. */
  readonly removable: boolean;
  /** Part of an API that a cluster may lack. */
  readonly optional: boolean;
}

const OURS = `${LABELS.managedBy}=${MANAGED_BY}`;

function child(kind: KnownKind, more: Partial<ChildKind> = {}): ChildKind {
  return { resource: RESOURCES[kind], labelSelector: OURS, removable: true, optional: false, ...more };
}

/** Every kind that is watched beside the custom resource. Secrets never are. */
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
  // The StatefulSet controller makes ControllerRevisions of its own, with the labels of the pods.
  ControllerRevision: child('ControllerRevision', {
    removable: false,
    labelSelector: `${OURS},${INPUTS_HASH_LABEL}`,
  }),
  Pod: child('Pod', { removable: false }),
} as const satisfies Partial<Record<KnownKind, ChildKind>>;

export type ChildKindName = keyof typeof CHILD_KINDS;

export const CHILD_KIND_NAMES = Object.keys(CHILD_KINDS) as ChildKindName[];

/** Kinds of APIs that a cluster may lack, get later, or lose. */
export const OPTIONAL_KINDS = CHILD_KIND_NAMES.filter((kind) => CHILD_KINDS[kind].optional);

/** Ways in from outside. */
export const ROUTE_KINDS = ['Ingress', 'HTTPRoute'] as const satisfies readonly ChildKindName[];

export function isRouteKind(kind: string): boolean {
  return (ROUTE_KINDS as readonly string[]).includes(kind);
}

/** `kind` as one that is watched; undefined for any other (Secrets, say). */
export function childKindOf(kind: string): ChildKind | undefined {
  return Object.hasOwn(CHILD_KINDS, kind) ? CHILD_KINDS[kind as ChildKindName] : undefined;
}
