import type { BuildStatus } from '../contract/build.ts';
import type { RenderConfig } from '../contract/render-config.ts';
import type { Logger } from '../domain/logger.ts';
import type { Policy } from '../domain/policy.ts';
import type { TellSpan } from '../domain/span.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Clock } from '../kube/clock.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { Action } from './action.ts';
import type { ClusterView } from './cluster-view.ts';
import type { WriteClient } from './execute.ts';
import type { Patience } from './failure-rules.ts';
import type { ImageLooks } from './images/image-looks.ts';
import type { ObservedResource } from './observed.ts';

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
  readonly span?: TellSpan;
}
