/**
 * Id of a cluster, as its listener reports it: `NAMESPACE/UID` of `kube-system`, which exists as long as the cluster,
 * or of another namespace if the listener cannot read `kube-system`.
 */

/** A namespace that every cluster has and that is never deleted. */
export const CLUSTER_NAMESPACE = 'kube-system';

export function clusterId(namespace: string, uid: string): string {
  return `${namespace}/${uid}`;
}

const namespaceOf = (id: string) => id.split('/', 1)[0];

/** Whether two ids can be compared, because they belong to the same namespace. */
export function sameNamespace(id: string, other: string): boolean {
  return namespaceOf(id) === namespaceOf(other);
}

/** Whether the ids certainly belong to two clusters. */
export function isAnotherCluster(id: string, other: string): boolean {
  return id !== other && sameNamespace(id, other);
}

/** Selects the id to store, from the stored and the reported id of the same cluster. */
export function keptClusterId(kept: string | null, reported: string | null): string | null {
  if (kept === null || reported === null) return kept ?? reported;
  return namespaceOf(reported) === CLUSTER_NAMESPACE ? reported : kept;
}
