import type { KubeObject, ObjectName, UntypedObject } from '../../kube/client/object.ts';
import type { ChildKindName } from '../kinds.ts';

/** The operator's cached view of the cluster: the reflectors' caches, or a simulation in tests. */
export interface ClusterView {
  /** The custom resource of this key (`namespace/name`), as cached. */
  resource(key: string): UntypedObject | undefined;
  /** Custom resources of a namespace with this identity value (`identityValue`). */
  resourcesOf(namespace: string, value: string): UntypedObject[];
  /** Volume claims and stored templates of a namespace with this identity value, whatever their name. */
  keptOf(namespace: string, value: string): UntypedObject[];
  /** Custom resources of any namespace that request this host. */
  resourcesOfHost(host: string): UntypedObject[];
  /** Objects that may belong to the custom resource of this key, by instance label or owner reference. */
  children(kind: ChildKindName, key: string): UntypedObject[];
  /** Whether the kind is watched. Optional kinds may be installed or removed at any time. */
  watches(kind: ChildKindName): boolean;
  /** Records the response to a write of this process. */
  noteWrite(written: KubeObject): void;
  /** Records a delete of this process. */
  noteDelete(deleted: KubeObject): void;
  /** Whether the cache has caught up with this process's last write of the object. */
  isCurrent(object: KubeObject): boolean;
  /** Reads one object from the API server into the cache. */
  refresh(kind: ChildKindName, at: ObjectName, signal: AbortSignal): Promise<UntypedObject | undefined>;
}
