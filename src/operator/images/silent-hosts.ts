import { RegistryError } from '../../image-registry/registry-error.ts';

/** A registry that has not answered is left alone for so long; what is wanted of it meanwhile is used as given. */
const LEFT_ALONE_MS = 30_000;

/** Whom it is asked as: a hash of the credentials. */
export interface RegistryCaller {
  readonly host: string;
  readonly credentials: string;
}

interface LeftAlone {
  readonly error: RegistryError;
  /** On the clock. */
  readonly until: number;
}

/**
 * Registries that are left alone for a while. One that cannot be reached is so for all; one that takes no more requests
 * says so to whoever it was asked as, and no tenant can bring that upon another one.
 */
export class SilentHosts {
  readonly #now: () => number;
  readonly #leftAlone = new Map<string, LeftAlone>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** @throws RegistryError of a moment ago, where it holds for the caller */
  check(caller: RegistryCaller): void {
    for (const key of [forAll(caller), forOne(caller)]) {
      const left = this.#leftAlone.get(key);
      if (left === undefined) continue;
      if (this.#now() < left.until) throw left.error;
      this.#leftAlone.delete(key);
    }
  }

  /** Takes an error into account. */
  note(caller: RegistryCaller, error: unknown): void {
    if (!(error instanceof RegistryError)) return;
    if (error.kind !== 'unavailable' && error.kind !== 'limited') return;
    const now = this.#now();
    for (const [other, { until }] of this.#leftAlone) if (until <= now) this.#leftAlone.delete(other);
    const key = error.kind === 'limited' ? forOne(caller) : forAll(caller);
    this.#leftAlone.set(key, { error, until: now + (error.retryAfterMs ?? LEFT_ALONE_MS) });
  }
}

const forAll = ({ host }: RegistryCaller) => host;
const forOne = ({ host, credentials }: RegistryCaller) => `${host} ${credentials}`;
