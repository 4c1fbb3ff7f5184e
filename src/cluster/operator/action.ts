import type { KubeObject } from '../../workloads/desired-object.ts';
import type { NamedSecret } from '../../workloads/objects/secret-sentinel.ts';
import type { Removal } from './changes/added-fields.ts';
import type { Comparison } from './decide/comparison.ts';

/**
 * One call to the cluster, with everything that fences it: `uid` of the object it was decided for, `resourceVersion`
 * where a change of the object takes away the reason.
 */
export type Action = ActionBase &
  (
    | {
        /**
         * Made if it is not there; never changes one that is. `replicas`: pods to start with. `probe`: one that is there
         * and out of sight gets a dry run first, as below.
         */
        readonly kind: 'create';
        readonly object: KubeObject;
        readonly replicas?: number;
        readonly probe?: string;
        /** Not applied again later: a POST. */
        readonly once: boolean;
      }
    /** The database's credentials, with a password made on the spot unless there is one already. */
    | { readonly kind: 'credentials' }
    /** Looks at Secrets. `database`: its credentials too. `witnessed`: what each witness knows of. */
    | {
        readonly kind: 'secrets';
        readonly database: boolean;
        readonly environments: readonly string[];
        readonly witnessed: readonly (readonly NamedSecret[])[];
      }
    /**
     * Server-side apply. `replicas`: kept in the apply because this manager is its only owner. `drift`: what is wanted
     * was there before and somebody changed it. `resume`: takes back a pause that somebody has set by hand. `added`:
     * fields to remove first. `probe`: hash of how the cluster changes it; a dry run shows first whether it still does.
     */
    | {
        readonly kind: 'apply';
        readonly object: KubeObject;
        readonly uid: string;
        readonly drift: boolean;
        readonly resume?: boolean;
        readonly replicas?: number;
        readonly added?: readonly Removal[];
        readonly probe?: string;
      }
    /**
     * `spec.replicas`, by its own manager. Not forced: refused where somebody else owns another number.
     * `resourceVersion`: refused where anything changed since. `probe`: as above.
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
     * The cluster gave the object a field that cannot be changed later. It is deleted, to be created again, if a dry run
     * shows that the cluster no longer does so. `keepsPods`: its pods serve until the new object replaces them.
     */
    | {
        readonly kind: 'replace';
        readonly object: KubeObject;
        readonly uid: string;
        readonly resourceVersion: string;
        readonly keepsPods: boolean;
        readonly comparison: Pick<Comparison, 'id' | 'object' | 'differences'>;
      }
    /** Size and ownership of the database's volume; its credentials and the stored templates follow in ownership. */
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
  /** Unique in a plan: kind of action and object. */
  readonly id: string;
  /** Why, as a phrase for logs: `is missing`, `spec.replicas: 3, not 2`. */
  readonly reason: string;
  readonly stage: Stage;
  /** Ids of actions that, if they are in the plan, must have succeeded before. */
  readonly after: readonly string[];
}

/** Stages run one after the other; what is in one stage runs side by side. */
export const STAGES = {
  /**
   * What others depend on, where it is missing: stored templates, credentials, accounts, the policies that close pods off
   * before they run. And autoscalers that would undo a scale.
   */
  prerequisites: 0,
  scale: 1,
  /** What pods stand on, before them: volumes, after their credentials, and what changes of accounts and policies. */
  foundations: 2,
  objects: 3,
  /** From no pods to some: with the new templates, or pods of the former ones would be made first. */
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
  /** What cannot be done yet, and what it waits for. */
  readonly waiting: readonly string[];
}
