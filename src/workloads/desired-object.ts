import type { V1OwnerReference, V1PodTemplateSpec } from '@kubernetes/client-node';
import type { Component } from '../domain/resource-spec/components.ts';

export type { Component };

/** Rendered pod templates of a revision, one for each of its components. */
export type PodTemplates = Partial<Record<Component, V1PodTemplateSpec>>;

/** Metadata as Berth writes it. */
export interface KubeMetadata {
  name: string;
  namespace: string;
  labels: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: V1OwnerReference[];
}

/** A Kubernetes object in wire form (field names as in JSON), without status. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: KubeMetadata;
  spec?: unknown;
  data?: unknown;
  [field: string]: unknown;
}

/** The desired number of pods of a workload. A separate field manager (`berth-replicas`) writes this number. */
export type Replicas =
  | { readonly kind: 'fixed'; readonly count: number }
  /**
   * An autoscaler, which is also a desired object, sets a number between min and max. A new workload starts with min.
   */
  | { readonly kind: 'autoscaled'; readonly min: number; readonly max: number };

/** One desired object in the cluster. */
export interface DesiredObject {
  /**
   * Complete object for server-side apply, without status and `spec.replicas`. The object has an owner reference if the
   * custom resource owns it.
   */
  readonly object: KubeObject;
  /** `create-only`: the object is created once and not changed later (except for `storage`). */
  readonly policy: 'apply' | 'create-only';
  /**
   * Whether the custom resource owns the object, so that both are deleted together. false: the object outlives the
   * custom resource, and has the label deployment-id.
   */
  readonly owned: boolean;
  /** Deployments and StatefulSets only. */
  readonly replicas?: Replicas;
  /** PersistentVolumeClaims only: the desired size. The size can be raised later, never lowered. */
  readonly storage?: string;
  /**
   * `database-credentials`: `object` is the Secret without data, for plans and dry runs. The operator creates
   * `databaseCredentials(resource, password)` with a new random password.
   */
  readonly contents?: 'database-credentials';
  /** Whether the object is created only when database and cache are ready. */
  readonly afterDataServices: boolean;
}

/** Input of `desiredObjects` besides resource and configuration. */
export interface DesiredContext {
  /**
   * Pod templates to run, newly rendered or stored. Labels, annotations and revision of the component Deployments come from
   * them. null: the rollout has not started, so only data services run.
   */
  readonly templates: PodTemplates | null;
  /** Image with which the database was created. Absent: the database is new. */
  readonly databaseImage?: string;
  /**
   * Image with which the cache was created, so that a new default does not restart the cache. Absent: the cache is new.
   */
  readonly cacheImage?: string;
  /** Ports of other pods of the app that still serve, in addition to those of `templates`. Absent: none. */
  readonly servingPorts?: readonly number[];
  /** Components whose old pod ends before the new pod starts, because both need the same volume. Absent: none. */
  readonly yielding?: ReadonlySet<Component>;
}
