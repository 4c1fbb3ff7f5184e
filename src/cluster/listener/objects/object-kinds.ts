import { READ_KINDS, type ReadKind } from '../../../domain/core/object-map.ts';
import { type Right, rightsOn } from '../../kube/client/rights.ts';

/** The kinds whose objects are read for clients, and the rights for this. */

/** Kinds of APIs that a cluster may not have. */
export const OPTIONAL_READ_KINDS: ReadonlySet<ReadKind> = new Set(['HTTPRoute']);

/** Kinds that the listener also lists for another purpose (rights.ts). */
const LISTED_ANYWAY: ReadonlySet<ReadKind> = new Set(['ManagedDeployment', 'PersistentVolumeClaim', 'Pod']);

/**
 * Rights to read the objects of deployments. One object is read with `list`, too, so that the label of the deployment selects
 * it. No right on Secrets is needed, because their names come from pods.
 */
export function objectRights(): Right[] {
  const kinds = READ_KINDS.filter((kind) => !LISTED_ANYWAY.has(kind));
  return [...kinds, 'Event' as const, 'PodMetrics' as const].flatMap((kind) => rightsOn(kind, ['list']));
}
