import { withoutCredentials } from '../../../domain/redaction/credential-text.ts';
import { masking } from '../../store/core/masking.ts';
import type { SealedSecrets } from '../../store/core/records.ts';
import { mayPrintReferences } from '../../store/deployments/revisions.ts';
import { allSecrets, secretIds } from '../../store/listeners/log-requests.ts';
import type { SecretBox } from '../../store/secrets/secret-box.ts';
import type { MaskNow } from './workload-logs.ts';

/** Masks log lines for callers without `secrets:read`, and for requests that mask secrets. */

type Mask = (text: string) => string;

/** Maximum number of masks that a process keeps. A mask takes up to 3 MiB. */
const KEPT_MASKS = 16;

/** Shown instead of lines that may contain values that the hub does not know. */
const WITHHELD =
  '[withheld: the deployment uses secret_references, so its logs need the scope secrets:read and mask_secrets=false]';

/** Leaves lines unchanged. */
export const unmasked: MaskNow = async () => (text) => text;

/** Withholds the lines from when the deployment has secret_references, which it may get while its logs are followed. */
export const withheldWithReferences =
  (maskNow: MaskNow, tenantId: string, deploymentId: string): MaskNow =>
  async (reader) =>
    (await mayPrintReferences(reader, tenantId, deploymentId)) ? () => WITHHELD : maskNow(reader);

/** The masks of all readers of a process. Readers of the same secrets share a mask. */
export class LogMasks {
  readonly #box: SecretBox;
  /** By the ids of the sets of secrets. The least recently used mask is first. */
  readonly #masks = new Map<string, Mask>();

  constructor(box: SecretBox) {
    this.#box = box;
  }

  /**
   * Masks the values of all secrets of a deployment: the current secrets, and the secrets of earlier calls. The
   * function does not keep the mask, because a process has many readers.
   */
  of(tenantId: string, deploymentId: string): MaskNow {
    const sets = new Map<string, SealedSecrets>();
    return async (reader) => {
      const ids = await secretIds(reader, tenantId, deploymentId);
      if (!ids.every((id) => sets.has(id)))
        for (const set of await allSecrets(reader, tenantId, deploymentId)) sets.set(set.id, set);
      return this.#maskOf(sets);
    };
  }

  #maskOf(sets: ReadonlyMap<string, SealedSecrets>): Mask {
    const key = [...sets.keys()].sort().join();
    const mask = this.#masks.get(key) ?? this.#newMask([...sets.values()]);
    this.#masks.delete(key);
    this.#masks.set(key, mask);
    for (const oldest of this.#masks.keys()) {
      if (this.#masks.size <= KEPT_MASKS) break;
      this.#masks.delete(oldest);
    }
    return mask;
  }

  #newMask(sets: readonly SealedSecrets[]): Mask {
    const known = masking(this.#box, sets);
    return (text) => withoutCredentials(known(text));
  }
}
