import type { ManagedDeploymentStatus } from '../../../contract/resource/managed-deployment.ts';
import { APP_CONTAINER_NAME } from '../../../domain/deployment/reserved.ts';
import { COMPONENTS, type Component } from '../../../domain/resource-spec/resource-spec.ts';
import type { KubeObject } from '../../../workloads/desired-object.ts';
import type { ActiveRevision } from '../observed.ts';
import type { Templates } from './template-selection.ts';

/** The pod templates that the components run now, and the reason for them. */
export interface Target extends Templates {
  /**
   * `active`: the templates already serve. `rollout`: the templates are being rolled out. `off`: the deployment is
   * suspended. `no-revision`: no revision can run yet. `restored`: the desired revision has failed, and the active
   * revision runs again, exactly as before. `inspection`: the desired revision has failed and no revision was active
   * before, so one pod of each component is kept for inspection.
   */
  readonly kind: 'active' | 'rollout' | 'off' | 'no-revision' | 'restored' | 'inspection';
  /** Revision of the templates. */
  readonly revision: RevisionRef | null;
  /** The failure of the desired revision, which is not retried automatically; null: it has not failed. */
  readonly failed: FailedRevision | null;
  /** A later in-place change of the restored revision that also failed; null: no later change failed. */
  readonly failedChange: FailedRevision | null;
  /** The failure of the desired revision, if this target is a later change of the active revision; otherwise null. */
  readonly instead: FailedRevision | null;
  /** Whether the restored revision runs without the source_config that failed with the desired revision. */
  readonly held: boolean;
  /**
   * Whether the running components are not changed, because the stored templates of the active revision are missing.
   */
  readonly untouched: boolean;
  /** Time until which a newer revision waits for the current rollout (ms since the epoch); null: no revision waits. */
  readonly heldUntil: number | null;
  /**
   * The desired revision, if it waits for its own database or cache, which the active revision does not use; null: no
   * revision waits. The active revision is reconciled during the wait.
   */
  readonly awaits: AwaitingRevision | null;
  /** The active revision, if it runs although another revision is desired; null: the target is the desired revision. */
  readonly served: ActiveRevision | null;
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
  readonly services: readonly ('database' | 'cache')[];
}

/** Defaults of the optional parts of a target. */
export const TARGET_DEFAULTS = {
  failed: null,
  failedChange: null,
  instead: null,
  held: false,
  untouched: false,
  heldUntil: null,
  awaits: null,
  served: null,
} as const;

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

/** The components of the target, in order. */
export function componentsOf(target: Target): Component[] {
  return COMPONENTS.filter((component) => target.templates?.[component] !== undefined);
}

/** The image of the target's app containers. */
export function imageOf(target: Target): string | undefined {
  const containers = target.templates?.api?.spec?.containers ?? [];
  return containers.find(({ name }) => name === APP_CONTAINER_NAME)?.image;
}
