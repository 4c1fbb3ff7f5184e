import type { ManagedDeploymentStatus } from '../../../contract/resource/managed-deployment.ts';
import type { Decision } from '../decide/decide.ts';
import type { Finding } from '../status/conditions.ts';
import type { ServiceFacts } from '../status/service-findings.ts';

/** What the conditions of a resource follow from. */
export interface Facts extends ServiceFacts {
  readonly decision: Decision;
  readonly paused: boolean;
  readonly activeRevision: ManagedDeploymentStatus['activeRevision'];
  /** How far the way in is; null: none is wanted. */
  readonly route: Finding | null;
}
