import { type Right, rightsOn } from '../kube/client/rights.ts';
import type { ChildKindName } from './kinds.ts';

const MANAGED = ['get', 'list', 'watch', 'create', 'patch', 'delete'];

/** Rights on each kind of child. `get`: to see whose an object is that bars the way of a new one. */
const CHILD_VERBS: Readonly<Record<ChildKindName, readonly string[]>> = {
  Deployment: MANAGED,
  StatefulSet: MANAGED,
  Service: MANAGED,
  ServiceAccount: MANAGED,
  HorizontalPodAutoscaler: MANAGED,
  PodDisruptionBudget: MANAGED,
  NetworkPolicy: MANAGED,
  Ingress: MANAGED,
  HTTPRoute: MANAGED,
  // Data: made, grown, never deleted.
  PersistentVolumeClaim: ['get', 'list', 'watch', 'create', 'patch'],
  // `patch`: their owners and the label that names whose they are, and of a witness all labels; of Secrets their owners alone.
  ControllerRevision: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
  Pod: ['list', 'watch'],
};

/** Every right that the operator uses in the namespaces it works in; `manifests/` grants exactly these. */
export function neededRights(kinds: readonly ChildKindName[]): Right[] {
  return [
    ...rightsOn('ManagedDeployment', ['get', 'list', 'watch']),
    ...rightsOn('ManagedDeployment', ['update'], 'status'),
    // The owner references block the owner's deletion.
    ...rightsOn('ManagedDeployment', ['update'], 'finalizers'),
    ...kinds.flatMap((kind) => rightsOn(kind, CHILD_VERBS[kind])),
    ...rightsOn('Secret', ['create', 'get', 'patch']),
    // `list`: those of one object, where it says nothing itself.
    ...rightsOn('Event', ['create', 'list', 'patch']),
  ];
}

/** Rights in the namespace of builds. */
export function buildRights(): Right[] {
  return [
    // `get`: to see whose a Job is that bars the way of a new one.
    ...rightsOn('Job', ['get', 'list', 'watch', 'create', 'delete']),
    ...rightsOn('Pod', ['list', 'watch']),
  ];
}

/** Rights in the namespace of the leader election's Lease. */
export function leaseRights(): Right[] {
  return rightsOn('Lease', ['get', 'create', 'update']);
}
