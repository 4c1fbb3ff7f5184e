import type { RenderConfig } from '../../contract/render/render-config.ts';
import type { BuildStatus } from '../../contract/resource/build.ts';
import type { Logger } from '../../domain/core/logger.ts';
import type { RecordSpan } from '../../domain/core/span.ts';
import type { Policy } from '../../domain/policy/policy.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { Clock } from '../kube/client/clock.ts';
import type { EventRecorder } from '../kube/client/events.ts';
import type { WriteClient } from './act/execute.ts';
import type { Action } from './action.ts';
import type { DomainLookups } from './domains/domain-lookups.ts';
import type { DigestResolver } from './images/digest-resolver.ts';
import type { ClusterView } from './observe/cluster-view.ts';
import type { ObservedResource } from './observed.ts';
import type { Patience } from './rollout/failure-rules.ts';
import type { Schedules } from './schedules/schedules.ts';
import type { ReleaseTasks } from './tasks/tasks.ts';

export interface ReconcilerOptions {
  readonly view: ClusterView;
  readonly client: WriteClient & Pick<KubeClient, 'replaceStatus' | 'list'>;
  readonly config: RenderConfig;
  /** What deployments may request. */
  readonly policy: Policy;
  /** Public host of the hub; absent: the host is not known. */
  readonly ownHost?: string | undefined;
  /** Hosts of other parts of the platform, which no deployment may newly claim; absent: no host is known. */
  readonly platformHosts?: readonly string[] | undefined;
  /** Namespace of Berth itself; default: berth-system. */
  readonly ownNamespace?: string | undefined;
  /** Interval of the reads of referenced Secrets, in ms; default: see access/secret-readings.ts. */
  readonly secretPollMs?: number | undefined;
  /** Domain below which the hub assigns URLs; absent or null: none is known. */
  readonly appDomain?: string | null | undefined;
  /** Looks up additional hosts; absent: their state is unknown, and hosts that need proof are not routed. */
  readonly lookups?: Pick<DomainLookups, 'of' | 'hasFound' | 'forget'> | undefined;
  /** How long a symptom may last before the rollout fails; default: see failure-rules.ts. */
  readonly patience?: Partial<Omit<Patience, 'deadlineMs'>>;
  /** State of builds; absent: this operator runs no builds, and the status states this. */
  readonly builds?: { statusOf(resource: ObservedResource): BuildStatus | undefined };
  /** The schedules, which follow the active revision; absent: this operator runs no schedules. */
  readonly schedules?: Pick<Schedules, 'findingOf' | 'reconciled'> | undefined;
  /** The tasks of releases; absent: no release can run. */
  readonly releases?: ReleaseTasks | undefined;
  /** Looks up image digests; absent: images are used as given. */
  readonly images?: Pick<DigestResolver, 'resolve' | 'forget'>;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly clock: Pick<Clock, 'now' | 'date'>;
  readonly logger: Logger;
  /** Called before each write, because a process that was suspended may have lost the lease without noticing it. */
  readonly mayAct: () => boolean;
  /** Called after each write that changed the cluster. */
  readonly onAction?: (action: Action) => void;
  /** Receives a span for each reconcile that changed an object. */
  readonly span?: RecordSpan;
}
