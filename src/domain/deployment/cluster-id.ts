/**
 * Which cluster it is, as its listener tells: `NAMESPACE/UID` of `kube-system`, which lives as long as the cluster, or of
 * another namespace where that one may not be read.
 */

/** The namespace that every cluster has, and that is never deleted. */
export const CLUSTER_NAMESPACE = 'kube-system';

export function clusterId(namespace: string, uid: string): string {
  return `${namespace}/${uid}`;
}

const namespaceOf = (id: string) => id.split('/', 1)[0];

/** Whether two ids can be compared: those of different namespaces say nothing of one another. */
export function sameNamespace(id: string, other: string): boolean {
  return namespaceOf(id) === namespaceOf(other);
}

/** Whether these are surely two clusters. */
export function isAnotherCluster(id: string, other: string): boolean {
  return id !== other && sameNamespace(id, other);
}

/** The id to be kept of one kept so far and one told now, of the same cluster as far as is known. */
export function keptClusterId(kept: string | null, told: string | null): string | null {
  if (kept === null || told === null) return kept ?? told;
  return namespaceOf(told) === CLUSTER_NAMESPACE ? told : kept;
}
