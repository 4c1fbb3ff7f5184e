import { MARKER_KEY_SECRET } from '../../contract/resource/names.ts';
import { type Right, rightsOn } from '../kube/client/rights.ts';
import type { ChildKindName } from './kinds.ts';

const MANAGED = ['get', 'list', 'watch', 'create', 'patch', 'delete'];

/** Rights on each kind of child. `get` is needed to find the owner of an object whose name is taken. */
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
  // Kinds that hold data. Objects of these kinds are created and expanded, never deleted.
  PersistentVolumeClaim: ['get', 'list', 'watch', 'create', 'patch'],
  // `patch` changes the owners and the instance label, and for a sentinel all labels. For Secrets, `patch` changes only
  // the owners.
  ControllerRevision: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
  Pod: ['list', 'watch'],
};

/** Every right that the operator uses in the namespaces that it manages. `manifests/` grants exactly these rights. */
export function neededRights(kinds: readonly ChildKindName[]): Right[] {
  return [
    ...rightsOn('ManagedDeployment', ['get', 'list', 'watch']),
    ...rightsOn('ManagedDeployment', ['update'], 'status'),
    // Needed to set owner references with blockOwnerDeletion.
    ...rightsOn('ManagedDeployment', ['update'], 'finalizers'),
    // `create` is for schedules and release commands, and `get` for the latter. `patch` changes only the owners of a task.
    ...rightsOn('DeploymentTask', ['get', 'list', 'watch', 'create', 'patch', 'delete']),
    // Not a subresource: the admission policy berth-task-origins asks for this right.
    ...rightsOn('DeploymentTask', ['create'], 'origin'),
    ...rightsOn('DeploymentTask', ['update'], 'status'),
    // The Jobs of tasks. `patch` starts a Job, and `get` finds the owner of one whose name is taken.
    ...rightsOn('Job', ['get', 'list', 'watch', 'create', 'patch', 'delete']),
    // The CronJobs of schedules.
    ...rightsOn('CronJob', ['list', 'watch', 'create', 'patch', 'delete']),
    ...kinds.flatMap((kind) => rightsOn(kind, CHILD_VERBS[kind])),
    ...rightsOn('Secret', ['create', 'get', 'patch']),
    // The certificates of additional hosts, if cert-manager issues them.
    ...rightsOn('Certificate', ['get']),
    // `list` reads the Events of one object whose own status gives no reason.
    ...rightsOn('Event', ['create', 'list', 'patch']),
  ];
}

/** Rights in the namespace of builds. */
export function buildRights(): Right[] {
  return [
    // `get` is needed to find the owner of a Job whose name is taken.
    ...rightsOn('Job', ['get', 'list', 'watch', 'create', 'delete']),
    ...rightsOn('Pod', ['list', 'watch']),
  ];
}

/** Rights in the namespace of the leader election's Lease. */
export function leaseRights(): Right[] {
  return rightsOn('Lease', ['get', 'create', 'update']);
}

/** Rights in the same namespace, for the key of markers (access/marker-key.ts). */
export function markerKeyRights(): Right[] {
  return [
    ...rightsOn('Secret', ['get']).map((right) => ({ ...right, name: MARKER_KEY_SECRET })),
    ...rightsOn('Secret', ['create']),
  ];
}
