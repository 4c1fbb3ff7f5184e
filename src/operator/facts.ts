import type { ManagedDeploymentStatus } from '../contract/managed-deployment.ts';
import type { Finding } from './conditions.ts';
import type { Decision } from './decide.ts';
import type { ServiceFacts } from './service-findings.ts';

/** What the conditions of a resource follow from. */
export interface Facts extends ServiceFacts {
  readonly decision: Decision;
  readonly paused: boolean;
  readonly activeRevision: ManagedDeploymentStatus['activeRevision'];
  /** How far the way in is; null: none is wanted. */
  readonly route: Finding | null;
}
