import type { RenderConfig } from '../../contract/render/render-config.ts';
import type { Logger } from '../../domain/core/logger.ts';
import type { RecordSpan } from '../../domain/core/span.ts';
import type { ReflectorStats } from '../kube/cache/reflector.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { Clock } from '../kube/client/clock.ts';
import type { Outcome } from '../kube/queue/controller.ts';
import type { WorkQueue } from '../kube/queue/work-queue.ts';
import type { HubClient } from './session/hub-client.ts';

/** What a listener is run with. */
export interface ListenerOptions {
  hub: HubClient;
  client: KubeClient;
  /** Unique per process start. */
  identity: string;
  /** Berth's. */
  version: string;
  /** Namespaces to work in; empty: all. */
  namespaces: readonly string[];
  /** Where Berth itself runs in this cluster: nothing is applied there, and the operators' Lease is. */
  ownNamespace?: string;
  /** Namespace of builds; absent: nothing is built in this cluster. */
  buildNamespace?: string | undefined;
  /** Secret there by which builds pull base images. */
  buildBaseSecret?: string | undefined;
  /** The operator's rendering configuration. */
  rendering: Omit<RenderConfig, 'kubernetesVersion'>;
  /** Quota of tenants' namespaces beside what follows from the tenants' own; null: none at all. Default: FIXED_QUOTA. */
  tenantQuota?: Readonly<Record<string, string>> | null;
  /**
   * Told whenever the hub has answered to the attempt to take the lease. After the first time the hub knows the
   * namespaces: a deployment that names none goes where this listener may work.
   */
  onHubAnswer?: () => void;
  /** Told when a term of acting begins (cache filled, lease held) and ends. */
  onActing?: (acting: boolean) => void;
  /** What may be looked at whenever metrics are asked for: the queue of a term, the caches. */
  onTerm?: (term: { queue: WorkQueue; watches: () => { kind: string; stats: ReflectorStats }[] }) => void;
  /** Told how an attempt at a work item ended. */
  onOutcome?: (result: { outcome: Outcome; durationMs: number }) => void;
  /** Takes a span of each work item that was done, or could not be. */
  span?: RecordSpan;
  logger: Logger;
  clock?: Clock;
  random?: () => number;
}
