import { KubeError } from '../client/errors.ts';
import { compareResourceVersions } from '../client/object.ts';

/** So often a list older than what was seen is put down to a stale replica; then it is believed. */
const STALE_LISTS_REFUSED = 3;

/**
 * A list older than what was already seen comes from a replica that lags (try again) or, if it stays so, from a
 * server whose data was restored from a backup (believe it).
 */
export class StaleLists {
  readonly #plural: string;
  #refused = 0;

  /** @param plural the kind's, for messages */
  constructor(plural: string) {
    this.#plural = plural;
  }

  /**
   * Whether the list of version `listed` is older than `seen` (undefined: nothing was seen) and to be believed.
   * @throws KubeError when it is older and to be asked for again
   */
  isRewritten(listed: string, seen: string | undefined): boolean {
    if (seen === undefined || compareResourceVersions(listed, seen) >= 0) {
      this.#refused = 0;
      return false;
    }
    this.#refused += 1;
    if (this.#refused > STALE_LISTS_REFUSED) {
      this.#refused = 0;
      return true;
    }
    throw new KubeError({
      kind: 'server',
      message: `failed to list ${this.#plural}: the answer (version ${listed}) is older than what was seen (${seen})`,
    });
  }
}
