import type { KubeObject } from '../kube/client/object.ts';
import { CredentialsRecord } from './access/credentials-record.ts';
import type { CheckedReferences } from './access/foreign-references.ts';
import type { Checked } from './access/spec-policy.ts';
import { ClusterAnswers } from './act/cluster-responses.ts';
import { Refusals } from './act/refusals.ts';
import { NO_WARNING_EVENTS, type WarningEvents } from './observe/warning-events.ts';

/** What is remembered of one custom resource between looks. Losing it costs a few calls, never correctness. */
export interface Remembered {
  /** Own writes that the caches may not show yet. */
  written: readonly KubeObject[];
  readonly refusals: Refusals;
  readonly answers: ClusterAnswers;
  /** Since when numbers and wording of the status are others than written, in ticks (look-time.ts); undefined: they are not. */
  countsSince?: number | undefined;
  /** When Secrets were last looked at because something did not come up, in ticks. */
  secretsCheckedAt: number;
  readonly credentials: CredentialsRecord;
  /** What Events told of objects that say nothing themselves. */
  tellings: WarningEvents;
  /** What may not be of its spec; undefined: not looked for yet. */
  checked?: Checked;
  /** Which of its references lead to another deployment's objects; undefined: not looked for yet. */
  references?: CheckedReferences;
  /** Of the custom resource whose identity was accepted; undefined: not yet. */
  acceptedUid?: string | undefined;
  /** Whether the custom resource was read from the server since: the first list may be one of before. */
  confirmed: boolean;
  /** Looks in a row that ended with a failed call. */
  errors: number;
}

/** Which object was written, without what: it is remembered until the next look, which may be long. */
export function versionOf({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion } = metadata;
  return { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion } };
}

/** The memory of all custom resources, by key. */
export class Memory {
  readonly #byKey = new Map<string, Remembered>();

  of(key: string): Remembered {
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const fresh: Remembered = {
      written: [],
      refusals: new Refusals(),
      answers: new ClusterAnswers(),
      secretsCheckedAt: Number.NEGATIVE_INFINITY,
      credentials: new CredentialsRecord(),
      tellings: NO_WARNING_EVENTS,
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
