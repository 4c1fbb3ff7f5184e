import type { RenderConfig } from '../../contract/render/render-config.ts';
import type { Logger } from '../../domain/core/logger.ts';
import type { RecordSpan } from '../../domain/core/span.ts';
import type { ReflectorStats } from '../kube/cache/reflector.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { Clock } from '../kube/client/clock.ts';
import type { ReconcileOutcome } from '../kube/queue/controller.ts';
import type { WorkQueue } from '../kube/queue/work-queue.ts';
import type { HubClient } from './session/hub-client.ts';

/** Options of a listener. */
export interface ListenerOptions {
  hub: HubClient;
  client: KubeClient;
  /** Unique per process start. */
  identity: string;
  /** Version of Berth. */
  version: string;
  /** Namespaces to work in; empty: all. */
  namespaces: readonly string[];
  /** Namespace of Berth in this cluster: no deployment is applied there, and it contains the Lease of the operators. */
  ownNamespace?: string;
  /** The build namespace; absent: this cluster builds no images. */
  buildNamespace?: string | undefined;
  /** Secret in the build namespace with the credentials for base images. */
  buildBaseSecret?: string | undefined;
  /** The operator's rendering configuration. */
  rendering: Omit<RenderConfig, 'kubernetesVersion'>;
  /**
   * Limits of tenants' namespaces in addition to those derived from the tenants' quotas; null: no ResourceQuota.
   * Default: FIXED_QUOTA.
   */
  tenantQuota?: Readonly<Record<string, string>> | null;
  /**
   * Called whenever the hub has responded to an attempt to take the lease. After the first response, the hub knows the
   * namespaces. A deployment without a namespace then gets one in which this listener works.
   */
  onHubAnswer?: () => void;
  /** Called when a term begins (cache filled, lease held) and when it ends. */
  onActing?: (acting: boolean) => void;
  /** State for metrics, read when they are collected: the queue of a term and the caches. */
  onTerm?: (term: { queue: WorkQueue; watches: () => { kind: string; stats: ReflectorStats }[] }) => void;
  /** Called with the result of each attempt at a work item. */
  onOutcome?: (result: { outcome: ReconcileOutcome; durationMs: number }) => void;
  /** Receives a span for each attempt at a work item. */
  span?: RecordSpan;
  logger: Logger;
  clock?: Clock;
  random?: () => number;
}
