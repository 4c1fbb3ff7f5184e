import { KubeError } from '../client/errors.ts';
import { compareResourceVersions } from '../client/object.ts';

/**
 * Number of consecutive lists older than the known state that are attributed to a lagging replica. The next list is
 * accepted.
 */
// guard: stale-lists-rejected
const MAX_STALE_LISTS = 3;

/**
 * Decides about a list that is older than the known state. An older list comes from a lagging replica (retry), or, if
 * this persists, from a server whose data was restored from a backup (accept).
 */
export class StaleLists {
  readonly #plural: string;
  #rejected = 0;

  /** @param plural plural name of the kind, for messages */
  constructor(plural: string) {
    this.#plural = plural;
  }

  /**
   * Whether the list of version `listed` is older than the known state `seen` and must be accepted. `seen` undefined:
   * no state is known.
   * @throws KubeError when the list is older and must be requested again
   */
  isRewritten(listed: string, seen: string | undefined): boolean {
    if (seen === undefined || compareResourceVersions(listed, seen) >= 0) {
      this.#rejected = 0;
      return false;
    }
    this.#rejected += 1;
    if (this.#rejected > MAX_STALE_LISTS) {
      this.#rejected = 0;
      return true;
    }
    throw new KubeError({
      kind: 'server',
      message: `failed to list ${this.#plural}: the response (version ${listed}) is older than the known state (${seen})`,
    });
  }
}
