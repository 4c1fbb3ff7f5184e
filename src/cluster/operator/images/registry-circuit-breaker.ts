import { RegistryError } from '../../image-registry/registry-error.ts';

/**
 * Time for which the breaker stays open without a Retry-After. During this time, images of the registry are used as in
 * the spec.
 */
const OPEN_MS = 30_000;

/** The namespace of a request, and a hash of its credentials. */
export interface RegistryCaller {
  readonly host: string;
  readonly namespace: string;
  readonly credentials: string;
}

interface OpenCircuit {
  readonly error: RegistryError;
  /** In ticks (reconcile-time.ts). */
  readonly until: number;
}

/**
 * A circuit breaker for registries. An unreachable registry is skipped for all callers. A rate limit applies only to
 * the credentials, and slowness only to the caller, so one tenant cannot affect another tenant.
 */
export class RegistryCircuitBreaker {
  readonly #now: () => number;
  readonly #open = new Map<string, OpenCircuit>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** @throws RegistryError the last error, while it applies to the caller */
  check(caller: RegistryCaller): void {
    for (const keyOf of Object.values(KEYS)) {
      const key = keyOf(caller);
      const open = this.#open.get(key);
      if (open === undefined) continue;
      if (this.#now() < open.until) throw open.error;
      this.#open.delete(key);
    }
  }

  /** Records an error. */
  note(caller: RegistryCaller, error: unknown): void {
    if (!(error instanceof RegistryError)) return;
    const { kind } = error;
    if (kind !== 'unavailable' && kind !== 'limited' && kind !== 'slow') return;
    const now = this.#now();
    for (const [other, { until }] of this.#open) if (until <= now) this.#open.delete(other);
    this.#open.set(KEYS[kind](caller), { error, until: now + (error.retryAfterMs ?? OPEN_MS) });
  }
}

/** Key of the callers that an error applies to, by its kind. */
const KEYS = {
  unavailable: ({ host }: RegistryCaller) => host,
  limited: ({ host, credentials }: RegistryCaller) => `${host} ${credentials}`,
  slow: ({ host, credentials, namespace }: RegistryCaller) => `${host} ${credentials} ${namespace}`,
};
