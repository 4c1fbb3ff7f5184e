import type { KubeObject } from '../kube/client/object.ts';
import { CredentialsRecord } from './access/credentials-record.ts';
import type { CheckedReferences } from './access/foreign-references.ts';
import type { Checked } from './access/spec-policy.ts';
import { ClusterResponses } from './act/cluster-responses.ts';
import { Refusals } from './act/refusals.ts';
import { NO_WARNING_EVENTS, type WarningEvents } from './observe/warning-events.ts';

/**
 * State of one custom resource that is kept in memory between reconciles. If this state is lost, a few more calls are
 * needed, and nothing becomes incorrect.
 */
export interface Remembered {
  /** Writes of this process that the caches may not show yet. */
  written: readonly KubeObject[];
  readonly refusals: Refusals;
  readonly responses: ClusterResponses;
  /**
   * Time since which counts and messages differ from the written status, in ticks (reconcile-time.ts); undefined: they
   * do not differ.
   */
  countsSince?: number | undefined;
  /** When Secrets were last read because a workload did not start, in ticks. */
  secretsCheckedAt: number;
  readonly credentials: CredentialsRecord;
  /** Warning Events about objects whose own status gives no reason. */
  warnings: WarningEvents;
  /** Result of the policy check of the spec; undefined: not checked yet. */
  checked?: Checked;
  /** References to objects of another deployment; undefined: not checked yet. */
  references?: CheckedReferences;
  /** Time until the next lookup of an additional host is due, in ms; null or undefined: none is due. */
  domainsPauseMs?: number | null;
  /** Uid of the custom resource whose identity was accepted; undefined: none was accepted yet. */
  acceptedUid?: string | undefined;
  /** Whether the custom resource was read from the API server since the start. The first list of a watch may be stale. */
  confirmed: boolean;
  /** Number of consecutive reconciles that ended with a failed call. */
  errors: number;
}

/** The identity and version of a written object without its content, which would stay in memory until the next reconcile. */
export function versionOf({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion } = metadata;
  return { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion } };
}

/** The in-memory state of all custom resources, by key. */
export class Memory {
  readonly #byKey = new Map<string, Remembered>();

  of(key: string): Remembered {
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const fresh: Remembered = {
      written: [],
      refusals: new Refusals(),
      responses: new ClusterResponses(),
      secretsCheckedAt: Number.NEGATIVE_INFINITY,
      credentials: new CredentialsRecord(),
      warnings: NO_WARNING_EVENTS,
      confirmed: false,
      errors: 0,
    };
    this.#byKey.set(key, fresh);
    return fresh;
  }

  forget(key: string): void {
    this.#byKey.delete(key);
  }
}
