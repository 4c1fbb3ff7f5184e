import type { KubeObject, ObjectName, UntypedObject } from '../../kube/client/object.ts';
import type { ChildKindName } from '../kinds.ts';

/** What the operator knows of the cluster without asking it: the reflectors' caches (or a simulation, in tests). */
export interface ClusterView {
  /** The custom resource of this key (`namespace/name`), as cached. */
  resource(key: string): UntypedObject | undefined;
  /** Custom resources of this namespace with this identity value (`identityValue`). */
  resourcesOf(namespace: string, value: string): UntypedObject[];
  /** Volume claims and stored templates of this namespace that carry the identity value, whatever their name. */
  keptOf(namespace: string, value: string): UntypedObject[];
  /** Custom resources of any namespace that want to be reached under this host. */
  resourcesOfHost(host: string): UntypedObject[];
  /** Objects that may belong to the custom resource of this key, by its name in label or owner reference. */
  children(kind: ChildKindName, key: string): UntypedObject[];
  /** Whether the cluster has this kind, as far as is known: those of an optional API may come and go. */
  watches(kind: ChildKindName): boolean;
  /** Tells of the answer to an own write. */
  noteWrite(written: KubeObject): void;
  /** Tells of an own delete. */
  noteDelete(deleted: KubeObject): void;
  /** Whether the cache has caught up with one's own last write of this object. */
  isCurrent(object: KubeObject): boolean;
  /** Live read of one object, into the cache. */
  refresh(kind: ChildKindName, at: ObjectName, signal: AbortSignal): Promise<UntypedObject | undefined>;
}
