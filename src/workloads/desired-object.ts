import type { V1OwnerReference, V1PodTemplateSpec } from '@kubernetes/client-node';
import type { Component } from '../domain/resource-spec/resource-spec.ts';

export type { Component };

/** Rendered pod templates of one revision, one for each component that it has. */
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

/** How many pods a workload is to have; its own field manager (`berth-replicas`) writes it. */
export type Replicas =
  | { readonly kind: 'fixed'; readonly count: number }
  /** An autoscaler (also among the desired objects) decides between min and max; a new workload starts at min. */
  | { readonly kind: 'autoscaled'; readonly min: number; readonly max: number };

/** One object that is wanted in the cluster. */
export interface DesiredObject {
  /** Fresh and complete for server-side apply: no status, never `spec.replicas`, owner reference set if owned. */
  readonly object: KubeObject;
  /** `create-only`: made once and then left alone (but see `storage`). */
  readonly policy: 'apply' | 'create-only';
  /** Owned by the custom resource and removed with it. False: outlives it, found by its deployment-id label. */
  readonly owned: boolean;
  /** Deployments and StatefulSets only. */
  readonly replicas?: Replicas;
  /** PersistentVolumeClaims only: the size wanted; the one field that is raised later, never lowered. */
  readonly storage?: string;
  /**
   * `database-credentials`: `object` is the bare Secret without data, to be planned with and shown; what is
   * created is `databaseCredentials(resource, password)` with a new random password.
   */
  readonly contents?: 'database-credentials';
  /** Created only once database and cache are ready. */
  readonly afterDataServices: boolean;
}

/** What `desiredObjects` needs to know beside resource and configuration. */
export interface DesiredContext {
  /**
   * Pod templates to run: rendered now or stored earlier. Labels, annotations and revision of the component
   * Deployments are read from them. null: the rollout has not started; data services only.
   */
  readonly templates: PodTemplates | null;
  /** Image that the database was made with; absent: a new database. */
  readonly databaseImage?: string;
  /** Image that the cache was made with, so that a new default restarts no cache; absent: a new cache. */
  readonly cacheImage?: string;
  /** Components whose old pod ends before the new one starts, because both need the same volume; absent: none. */
  readonly yielding?: ReadonlySet<Component>;
}
