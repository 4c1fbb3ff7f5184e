import type { HostingMode } from '../../domain/deployment/source.ts';
import { type Right, rightsOn } from '../kube/client/rights.ts';

/** Rights in the namespaces that the listener works in. */
export function workRights(): Right[] {
  return [
    ...rightsOn('ManagedDeployment', ['get', 'list', 'watch', 'create', 'patch', 'delete']),
    // The environment of a revision: written once, read back to see whose it is, removed by name.
    ...rightsOn('Secret', ['create', 'get', 'delete']),
    // Purge: what outlives the custom resource.
    ...rightsOn('PersistentVolumeClaim', ['list', 'delete']),
    ...rightsOn('ControllerRevision', ['list', 'delete']),
    // Logs, for who asks for them.
    ...rightsOn('Pod', ['list']),
    ...rightsOn('Pod', ['get'], 'log'),
  ];
}

/** Rights in Berth's own namespace: whether the cluster answers is asked by the operators' Lease, and of no other. */
export function leaseRights(): Right[] {
  return rightsOn('Lease', ['get']);
}

/** Rights in the namespace of builds, which holds nothing else. */
export function buildRights(): Right[] {
  return [
    // The credentials of a build: written, renewed, and found again where they were left.
    ...rightsOn('Secret', ['get', 'list', 'create', 'patch', 'delete']),
    // Purge.
    ...rightsOn('Job', ['list', 'delete']),
    // The logs of builds.
    ...rightsOn('Pod', ['list', 'watch']),
    ...rightsOn('Pod', ['get'], 'log'),
  ];
}

/** Rights in the whole cluster: in cloud mode the listener makes the namespaces of tenants. */
export function namespaceRights(hosting: HostingMode): Right[] {
  if (hosting === 'self_hosted') return [];
  return [
    ...rightsOn('Namespace', ['get', 'create', 'patch']),
    ...rightsOn('ResourceQuota', ['create', 'patch']),
    ...rightsOn('LimitRange', ['create', 'patch']),
    ...rightsOn('NetworkPolicy', ['create', 'patch']),
  ];
}
