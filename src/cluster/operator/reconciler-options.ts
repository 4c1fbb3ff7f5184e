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
import type { ImageLooks } from './images/digest-resolver.ts';
import type { ClusterView } from './observe/cluster-view.ts';
import type { ObservedResource } from './observed.ts';
import type { Patience } from './rollout/failure-rules.ts';

export interface ReconcilerOptions {
  readonly view: ClusterView;
  readonly client: WriteClient & Pick<KubeClient, 'replaceStatus' | 'list'>;
  readonly config: RenderConfig;
  /** What pods may be. */
  readonly policy: Policy;
  /** Host under which the hub itself is reached; absent: not known. */
  readonly ownHost?: string | undefined;
  /** Hosts of the other parts of the platform, which no deployment may newly have; absent: none is known. */
  readonly platformHosts?: readonly string[] | undefined;
  /** How long trouble may last before a rollout has failed; default: see failure-rules. */
  readonly patience?: Partial<Omit<Patience, 'deadlineMs'>>;
  /** How far builds are; absent: this operator builds nothing, and says so. */
  readonly builds?: { statusOf(resource: ObservedResource): BuildStatus | undefined };
  /** Looks up the digests of images; absent: they are used as given. */
  readonly images?: Pick<ImageLooks, 'lookOf' | 'forget'>;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly clock: Pick<Clock, 'now' | 'date'>;
  readonly logger: Logger;
  /** Asked before each write: a process that was frozen may have lost the lead without having noticed. */
  readonly mayAct: () => boolean;
  /** Told of each call that changed something in the cluster. */
  readonly onAction?: (action: Action) => void;
  /** Takes a span of each look that has changed something. */
  readonly span?: RecordSpan;
}
