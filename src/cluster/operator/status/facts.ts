import type { ManagedDeploymentStatus } from '../../../contract/resource/managed-deployment.ts';
import type { Decision } from '../decide/decide.ts';
import type { Finding } from './conditions.ts';
import type { ServiceFacts } from './service-findings.ts';

/** Input of the conditions of a resource. */
export interface Facts extends ServiceFacts {
  readonly decision: Decision;
  readonly paused: boolean;
  readonly activeRevision: ManagedDeploymentStatus['activeRevision'];
  /** Condition RouteReady; null: no route is requested. */
  readonly route: Finding | null;
  /** Condition DomainsReady; null: there are no additional hosts. */
  readonly domains: Finding | null;
  /** Condition SchedulesHealthy; null: it is not known. */
  readonly schedules: Finding | null;
}
