import type { ManagedDeploymentStatus } from '../contract/managed-deployment.ts';
import type { Condition, ConditionType, Reason } from '../domain/conditions.ts';

/** An event to tell on the custom resource. */
export interface Transition {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** Reasons that someone should look at. */
const WARNINGS: ReadonlySet<string> = new Set<Reason>([
  'Refused',
  'Conflict',
  'ReconcileFailed',
  'VolumeNotExpandable',
  'RolloutFailed',
  'RolloutDeadlineExceeded',
]);

interface Change {
  readonly before: Condition | undefined;
  readonly after: Condition;
  /** No revision was active yet. */
  readonly first: boolean;
}

/** Whether a change is worth an event. What merely starts is not: it is in the status anyway. */
const TOLD: Partial<Record<ConditionType, (change: Change) => boolean>> = {
  DatabaseReady: ({ before, after }) => after.status === 'True' || before !== undefined,
  CacheReady: ({ before, after }) => after.status === 'True' || before !== undefined,
  Progressing: ({ before }) => before !== undefined,
  // That the first revision serves is told by the end of its rollout.
  Serving: ({ first }) => !first,
  Ready: ({ after }) => after.status === 'True' || WARNINGS.has(after.reason),
  Paused: () => true,
};

/** What there is to tell about the way from one status to the next. */
export function transitions(
  before: ManagedDeploymentStatus | undefined,
  after: ManagedDeploymentStatus,
): Transition[] {
  return (after.conditions ?? []).flatMap((condition) => {
    const { type, status, reason, message } = condition;
    const former = before?.conditions?.find((candidate) => candidate.type === type);
    if (former?.status === status && former.reason === reason) return [];
    const change = { before: former, after: condition, first: before?.activeRevision === undefined };
    if (TOLD[type as ConditionType]?.(change) !== true) return [];
    const lost =
      former?.status === 'True' && status === 'False' && isHealth(type) && reason !== 'SwitchedOff';
    return [{ type: WARNINGS.has(reason) || lost ? 'Warning' : 'Normal', reason, message }];
  });
}

function isHealth(type: string): boolean {
  return type === 'DatabaseReady' || type === 'CacheReady' || type === 'Serving';
}
