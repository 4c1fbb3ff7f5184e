import type { ManagedDeploymentStatus } from '../../../contract/resource/managed-deployment.ts';
import type { KubeObject } from '../../../workloads/desired-object.ts';
import type { RolloutFailure } from '../rollout/judge-rollout.ts';

/** The record of a release in the status. */
export type ReleaseRecord = NonNullable<ManagedDeploymentStatus['release']>;

/**
 * The release that a revision waits for, with the next step. No pod of the revision starts meanwhile.
 */
export type PendingRelease =
  /** `message`: what it waits for, as a part of a sentence. Nothing has started. `reason`: absent: ReleaseInProgress. */
  | { readonly kind: 'waiting'; readonly message: string; readonly reason?: 'TasksUnavailable' }
  /** Create the task. Its Job does not run before its uid is recorded. */
  | { readonly kind: 'create'; readonly task: KubeObject }
  /** Record the uid of the Job, which then runs. */
  | { readonly kind: 'record'; readonly record: ReleaseRecord }
  /** The Job may run. `message`: its state, as a part of a sentence. */
  | { readonly kind: 'running'; readonly message: string }
  | { readonly kind: 'failed'; readonly failure: RolloutFailure };
