import type { KubeObject } from '../../workloads/desired-object.ts';
import type { NamedSecret } from '../../workloads/objects/secret-sentinel.ts';
import type { Removal } from './changes/added-fields.ts';
import type { Comparison } from './decide/comparison.ts';

/**
 * One write to the cluster, with its preconditions: the `uid` of the object that it was planned for, and the
 * `resourceVersion` if any later change of the object invalidates the action.
 */
export type Action = ActionBase &
  (
    | {
        /**
         * Creates the object if it does not exist, and never changes an existing one. `replicas`: the initial number of pods.
         * `probe`: an existing object that the caches do not show gets a dry run first, as for `apply`.
         */
        readonly kind: 'create';
        readonly object: KubeObject;
        readonly replicas?: number;
        readonly probe?: string;
        /** The object is never applied later, so it is created by a POST. */
        readonly once: boolean;
      }
    /** Creates the credentials of the database with a new password, unless they exist. */
    | { readonly kind: 'credentials' }
    /**
     * Reads Secrets. `database`: whether to also read the credentials of the database. `sentinelSecrets`: the Secrets
     * that each sentinel has recorded.
     */
    | {
        readonly kind: 'secrets';
        readonly database: boolean;
        readonly environments: readonly string[];
        readonly sentinelSecrets: readonly (readonly NamedSecret[])[];
      }
    /**
     * Server-side apply. `replicas`: repeated in the apply because this field manager is the only owner of the field.
     * `drift`: the desired object was applied before and has been edited since. `resume`: reverts a manual
     * `kubectl rollout pause`. `added`: fields to remove first. `foreign`: fields of other managers, which are removed only
     * if the API server rejects the desired object with them. `probe`: hash of the change that the cluster makes to the object; a dry run checks first whether it still makes this change.
     */
    | {
        readonly kind: 'apply';
        readonly object: KubeObject;
        readonly uid: string;
        readonly drift: boolean;
        readonly resume?: boolean;
        readonly replicas?: number;
        readonly added?: readonly Removal[];
        readonly foreign?: readonly Removal[];
        readonly probe?: string;
      }
    /**
     * Sets `spec.replicas` with a separate field manager. Without `force`, the API server rejects the write when
     * another manager owns a different number. With `resourceVersion`, the API server rejects the write after any
     * change of the object. `probe`: as for `apply`.
     */
    | {
        readonly kind: 'scale';
        readonly object: KubeObject;
        readonly uid: string;
        readonly resourceVersion?: string;
        readonly replicas: number;
        readonly force: boolean;
        readonly probe?: string;
      }
    /**
     * The cluster has set a field of the object that is immutable. The object is deleted and then created again, if a dry
     * run shows that the cluster no longer sets the field. `keepsPods`: the pods keep serving until the new object replaces
     * them.
     */
    | {
        readonly kind: 'replace';
        readonly object: KubeObject;
        readonly uid: string;
        readonly resourceVersion: string;
        readonly keepsPods: boolean;
        readonly comparison: Pick<Comparison, 'id' | 'object' | 'differences'>;
      }
    /** Changes size and owner of the database volume. `followers`: stored templates that get the same owner. */
    | {
        readonly kind: 'volume';
        readonly object: KubeObject;
        readonly uid: string;
        readonly resourceVersion: string;
        readonly change: { readonly storage?: string; readonly owned?: boolean };
        readonly followers: readonly { readonly name: string; readonly uid: string }[];
      }
    | {
        readonly kind: 'delete';
        readonly object: { apiVersion: string; kind: string; metadata: { name: string; namespace: string } };
        readonly uid: string;
        readonly resourceVersion: string;
      }
  );

interface ActionBase {
  /** Kind of action and object, unique in a plan. */
  readonly id: string;
  /** The reason as a phrase for logs: `is missing`, `spec.replicas: 3, not 2`. */
  readonly reason: string;
  readonly stage: Stage;
  /** Ids of actions that must succeed first, if the plan contains them. */
  readonly after: readonly string[];
}

/** Stages run one after the other. The actions of one stage run in parallel. */
export const STAGES = {
  /**
   * Missing objects that other objects depend on: stored templates, credentials, service accounts, and network
   * policies, which must exist before the pods run. Autoscalers that would revert a scale are also removed in this
   * stage.
   */
  prerequisites: 0,
  scale: 1,
  /**
   * Objects that pods need before they start: volumes (after their credentials), and changed service accounts and
   * policies.
   */
  foundations: 2,
  objects: 3,
  /**
   * Scales up from zero after the new template is applied. An earlier scale-up would start pods of the old template.
   */
  start: 4,
  autoscalers: 5,
  removal: 6,
} as const;
export type Stage = (typeof STAGES)[keyof typeof STAGES];
export type ActionKind = Action['kind'];

/** `apply Deployment/shop-api`. */
export function actionId(kind: ActionKind, objectKind: string, name: string): string {
  return `${kind} ${objectKind}/${name}`;
}

export interface Plan {
  readonly actions: readonly Action[];
  /** One sentence for each object that cannot be written yet. The sentence states what the object waits for. */
  readonly waiting: readonly string[];
}
