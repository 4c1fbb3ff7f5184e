import type { ManagedDeploymentStatus } from '../../../contract/resource/managed-deployment.ts';
import { APP_CONTAINER_NAME } from '../../../domain/deployment/reserved.ts';
import { COMPONENTS, type Component } from '../../../domain/resource-spec/components.ts';
import type { KubeObject } from '../../../workloads/desired-object.ts';
import type { ActiveRevision } from '../observed.ts';
import type { PendingRelease } from '../releases/release.ts';
import type { Templates } from './template-selection.ts';

/** The pod templates that the components run now, and the reason for them. */
export type Target =
  | OffTarget
  | NoRevisionTarget
  | ActiveTarget
  | RolloutTarget
  | RestoredTarget
  | InspectionTarget;

interface AnyTarget extends Templates {
  /** Revision of the templates. */
  readonly revision: RevisionRef | null;
  /** Time until which a newer revision waits for the current rollout (ms since the epoch); null: no revision waits. */
  readonly heldUntil: number | null;
}

/** The deployment is suspended, so the templates run without pods. */
export interface OffTarget extends AnyTarget {
  readonly kind: 'off';
  readonly failure: TargetFailure | null;
}

/** No revision can run yet. */
export interface NoRevisionTarget extends AnyTarget {
  readonly kind: 'no-revision';
  readonly failure: TargetFailure | null;
  readonly untouched: boolean;
}

/** The templates already serve. */
export interface ActiveTarget extends AnyTarget {
  readonly kind: 'active';
  readonly revision: RevisionRef;
  readonly failure: TargetFailure | null;
  /**
   * The active revision, if it runs although another revision is desired; null: the active revision is the desired
   * revision.
   */
  readonly served: ActiveRevision | null;
  /**
   * The desired revision, if it waits for its own database or cache, which the active revision does not use, or for its
   * release command; null: no revision waits. The active revision is reconciled during the wait.
   */
  readonly awaits: AwaitingRevision | null;
  readonly instead: FailedRevision | null;
  readonly untouched: boolean;
}

/** The templates are being rolled out. */
export interface RolloutTarget extends AnyTarget {
  readonly kind: 'rollout';
  readonly revision: RevisionRef;
  /** The failure of the desired revision, if this target is a later change of the active revision; otherwise null. */
  readonly instead: FailedRevision | null;
  /** The release that must succeed before any component changes; absent: none. */
  readonly release?: PendingRelease;
  /**
   * The failures that stay recorded, if this target only follows changed values of referenced Secrets; absent: it is
   * another rollout.
   */
  readonly standing?: TargetFailure;
}

/** The desired revision has failed, and the active revision runs again, exactly as before. */
export interface RestoredTarget extends AnyTarget {
  readonly kind: 'restored';
  readonly revision: RevisionRef;
  readonly failure: TargetFailure;
  readonly served: ActiveRevision;
  /** Whether the restored revision runs without the source_config that failed with the desired revision. */
  readonly held: boolean;
}

/**
 * The desired revision has failed and no revision was active before, so one pod of each component is kept for
 * inspection.
 */
export interface InspectionTarget extends AnyTarget {
  readonly kind: 'inspection';
  readonly revision: RevisionRef;
  readonly failure: TargetFailure;
  /**
   * Whether the running components are not changed, because the stored templates of the active revision are missing.
   */
  readonly untouched: boolean;
}

/** The failure of the desired revision, which is not retried automatically. */
export interface TargetFailure {
  readonly failed: FailedRevision;
  /** A later in-place change of the restored revision that also failed; null: no later change failed. */
  readonly failedChange: FailedRevision | null;
}

export interface RevisionRef {
  readonly id?: string;
  readonly number: number;
}

export interface AwaitingRevision extends RevisionRef {
  /** Name of the templates of the revision. */
  readonly templates: string;
  /** The ControllerRevision to create for the templates; null: it exists. */
  readonly store: KubeObject | null;
  /** The services that it waits for first. */
  readonly services: readonly ('database' | 'cache')[];
  /** The release that it waits for; null: none. */
  readonly release: PendingRelease | null;
}

export type FailedRevision = NonNullable<ManagedDeploymentStatus['failedRevision']>;

/** Id and number of a revision, without its other fields. */
export function revisionOf({ id, number }: { id?: string | undefined; number: number }): RevisionRef {
  return id === undefined ? { number } : { id, number };
}

/** Whether both refer to the same revision. */
export function isSame(
  a: { id?: string | undefined; number: number },
  b: { id?: string | undefined; number: number },
): boolean {
  return a.id === b.id && a.number === b.number;
}

/** The recorded failure of the desired revision; null: it has not failed. */
export function failureOf(target: Target): TargetFailure | null {
  return target.kind === 'rollout' ? null : target.failure;
}

/** The desired revision that waits for data services or its release command; null: no revision waits. */
export function awaitedBy(target: Target): AwaitingRevision | null {
  return target.kind === 'active' ? target.awaits : null;
}

/** Whether the desired revision waits for data services first. */
export const awaitsServices = (target: Target): boolean => (awaitedBy(target)?.services.length ?? 0) > 0;

/** The release that the desired revision waits for; null: none. */
export function releaseOf(target: Target): PendingRelease | null {
  return (target.kind === 'rollout' ? target.release : awaitedBy(target)?.release) ?? null;
}

/** The failure of the desired revision, if the target is a later change of the active revision; otherwise null. */
export function failedBefore(target: Target): FailedRevision | null {
  return target.kind === 'active' || target.kind === 'rollout' ? target.instead : null;
}

/** The failures that stay recorded during a rollout that only follows changed values of Secrets; null: another target. */
export function standingFailures(target: Target): TargetFailure | null {
  return target.kind === 'rollout' ? (target.standing ?? null) : null;
}

/** The active revision, if it runs although another revision is desired; null: the target is the desired revision. */
export function servedBy(target: Target): ActiveRevision | null {
  return target.kind === 'active' || target.kind === 'restored' ? target.served : null;
}

/** Whether running components are not changed, because their stored templates are missing. */
export function isUntouched(target: Target): boolean {
  return 'untouched' in target && target.untouched;
}

/** The components of the target, in order. */
export function componentsOf(target: Target): Component[] {
  return COMPONENTS.filter((component) => target.templates?.[component] !== undefined);
}

/** The image of the target's app containers. */
export function imageOf(target: Target): string | undefined {
  const containers = target.templates?.api?.spec?.containers ?? [];
  return containers.find(({ name }) => name === APP_CONTAINER_NAME)?.image;
}
