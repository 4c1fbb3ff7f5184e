import { RegistryError } from '../../image-registry/registry-error.ts';

/** A registry that has not answered is left alone for so long; what is wanted of it meanwhile is used as given. */
const LEFT_ALONE_MS = 30_000;

/** Whom it is asked for, and as: a hash of the credentials. */
export interface RegistryCaller {
  readonly host: string;
  readonly namespace: string;
  readonly credentials: string;
}

interface LeftAlone {
  readonly error: RegistryError;
  /** In ticks (look-time.ts). */
  readonly until: number;
}

/**
 * Registries that are left alone for a while. One that cannot be reached, or answers nothing, is so for all; one that takes
 * no more requests says so to whoever it was asked as, and one that is slow is so for whoever asked: no tenant can bring
 * that upon another one.
 */
export class RegistryCircuitBreaker {
  readonly #now: () => number;
  readonly #leftAlone = new Map<string, LeftAlone>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** @throws RegistryError of a moment ago, where it holds for the caller */
  check(caller: RegistryCaller): void {
    for (const keyOf of Object.values(KEYS)) {
      const key = keyOf(caller);
      const left = this.#leftAlone.get(key);
      if (left === undefined) continue;
      if (this.#now() < left.until) throw left.error;
      this.#leftAlone.delete(key);
    }
  }

  /** Takes an error into account. */
  note(caller: RegistryCaller, error: unknown): void {
    if (!(error instanceof RegistryError)) return;
    const { kind } = error;
    if (kind !== 'unavailable' && kind !== 'limited' && kind !== 'slow') return;
    const now = this.#now();
    for (const [other, { until }] of this.#leftAlone) if (until <= now) this.#leftAlone.delete(other);
    this.#leftAlone.set(KEYS[kind](caller), { error, until: now + (error.retryAfterMs ?? LEFT_ALONE_MS) });
  }
}

/** For whom it holds, by the kind of the error. */
const KEYS = {
  unavailable: ({ host }: RegistryCaller) => host,
  limited: ({ host, credentials }: RegistryCaller) => `${host} ${credentials}`,
  slow: ({ host, credentials, namespace }: RegistryCaller) => `${host} ${credentials} ${namespace}`,
};
