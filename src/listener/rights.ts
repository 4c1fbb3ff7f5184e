import type { HostingMode } from '../domain/source.ts';
import { type Right, rightsOn } from '../kube/rights.ts';

/** Rights in the namespaces that the listener works in. */
export function workRights(): Right[] {
  return [
    ...rightsOn('ManagedDeployment', ['get', 'list', 'watch', 'create', 'patch', 'delete']),
    // The environment of a revision: written once, read back to see whose it is, removed by name.
    ...rightsOn('Secret', ['create', 'get', 'delete']),
    // Purge: what outlives the custom resource.
    ...rightsOn('PersistentVolumeClaim', ['list', 'delete']),
    ...rightsOn('ControllerRevision', ['list', 'delete']),
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
