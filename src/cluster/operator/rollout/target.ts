import type { ManagedDeploymentStatus } from '../../../contract/resource/managed-deployment.ts';
import { APP_CONTAINER_NAME } from '../../../domain/deployment/reserved.ts';
import { COMPONENTS, type Component } from '../../../domain/resource-spec/resource-spec.ts';
import type { KubeObject } from '../../../workloads/desired-object.ts';
import type { ActiveRevision } from '../observed.ts';
import type { Templates } from './template-selection.ts';

/** The pod templates that the components are to run now, and why these. */
export interface Target extends Templates {
  /**
   * `active`: what already serves. `rollout`: on its way to become active.
   * `off`: switched off; `no-revision`: there is nothing to run yet.
   * `restored`: what is wanted has failed, and what was active before is to run again, exactly as it was.
   * `inspection`: it has failed and nothing was active before: one pod of each component stays to be looked at.
   */
  readonly kind: 'active' | 'rollout' | 'off' | 'no-revision' | 'restored' | 'inspection';
  /** Revision that the templates are of. */
  readonly revision: RevisionRef | null;
  /** The failure of what is wanted, which nothing tries again by itself; null: it has not failed. */
  readonly failed: FailedRevision | null;
  /** Of what runs instead: a change in place since then that failed too; null: none. */
  readonly failedChange: FailedRevision | null;
  /** What is wanted has failed, and this is a later change of what runs instead; null: it is not. */
  readonly instead: FailedRevision | null;
  /** What runs instead does not have the source_config that failed with the revision. */
  readonly held: boolean;
  /** What served is known no more, as its stored templates are gone: the components that run are left as they are. */
  readonly untouched: boolean;
  /** Something newer is wanted, and waits until then (ms since the epoch) for the rollout under way; null: no. */
  readonly heldUntil: number | null;
  /**
   * What is wanted, where it waits for a database or cache of its own that what runs does not use; null: nothing waits.
   * What runs is cared for meanwhile.
   */
  readonly awaits: AwaitingRevision | null;
  /** What was active, where it runs although something else is wanted; null: this is what is wanted. */
  readonly served: ActiveRevision | null;
}

export interface RevisionRef {
  readonly id?: string;
  readonly number: number;
}

export interface AwaitingRevision extends RevisionRef {
  /** Name of its templates. */
  readonly templates: string;
  /** The ControllerRevision with its templates, to be made; null: it is there. */
  readonly store: KubeObject | null;
  readonly services: readonly ('database' | 'cache')[];
}

/** A target of which there is nothing more to say. */
export const PLAIN = {
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

/** Which revision it is, and nothing more. */
export function revisionOf({ id, number }: { id?: string | undefined; number: number }): RevisionRef {
  return id === undefined ? { number } : { id, number };
}

/** Two names of one revision. */
export function isSame(
  a: { id?: string | undefined; number: number },
  b: { id?: string | undefined; number: number },
): boolean {
  return a.id === b.id && a.number === b.number;
}

/** Components that the target has, in order. */
export function componentsOf(target: Target): Component[] {
  return COMPONENTS.filter((component) => target.templates?.[component] !== undefined);
}

/** Image that the target's app containers run. */
export function imageOf(target: Target): string | undefined {
  const containers = target.templates?.api?.spec?.containers ?? [];
  return containers.find(({ name }) => name === APP_CONTAINER_NAME)?.image;
}
