import type { HostingMode } from '../../domain/deployment/source.ts';
import { type Right, rightsOn } from '../kube/client/rights.ts';
import { objectRights } from './objects/object-kinds.ts';

/** Rights in the namespaces that the listener works in. */
export function workRights(): Right[] {
  return [
    ...rightsOn('ManagedDeployment', ['get', 'list', 'watch', 'create', 'patch', 'delete']),
    // For tasks: `patch` cancels one.
    ...rightsOn('DeploymentTask', ['get', 'list', 'watch', 'create', 'patch']),
    // Checked by the admission policy for the origin of tasks.
    ...rightsOn('DeploymentTask', ['create'], 'origin'),
    // For the environment of a revision, which is created once, read to check its owner, and deleted by name.
    ...rightsOn('Secret', ['create', 'get', 'delete']),
    // For the purge of objects that outlive the custom resource.
    ...rightsOn('PersistentVolumeClaim', ['list', 'delete']),
    ...rightsOn('ControllerRevision', ['list', 'delete']),
    // For the logs of workloads.
    ...rightsOn('Pod', ['list']),
    ...rightsOn('Pod', ['get'], 'log'),
    ...objectRights(),
  ];
}

/**
 * Rights in Berth's own namespace: only reading the Lease of the operators, which shows whether the cluster responds.
 */
export function listenerLeaseRights(): Right[] {
  return rightsOn('Lease', ['get']);
}

/** Rights in the build namespace, which contains only builds. */
export function listenerBuildRights(): Right[] {
  return [
    // For the credentials of a build, which are created, renewed, and found when they were left behind.
    ...rightsOn('Secret', ['get', 'list', 'create', 'patch', 'delete']),
    // For the purge of builds.
    ...rightsOn('Job', ['list', 'delete']),
    // For the logs of builds.
    ...rightsOn('Pod', ['list', 'watch']),
    ...rightsOn('Pod', ['get'], 'log'),
  ];
}

/** Rights in the whole cluster: in cloud mode the listener creates the namespaces of tenants. */
export function namespaceRights(hosting: HostingMode): Right[] {
  if (hosting === 'self_hosted') return [];
  return [
    ...rightsOn('Namespace', ['get', 'create', 'patch']),
    ...rightsOn('ResourceQuota', ['create', 'patch']),
    ...rightsOn('LimitRange', ['create', 'patch']),
    ...rightsOn('NetworkPolicy', ['create', 'patch']),
  ];
}
