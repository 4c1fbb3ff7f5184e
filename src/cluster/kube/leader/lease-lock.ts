import type { KubeClient } from '../client/client-types.ts';
import type { Clock } from '../client/clock.ts';
import { isKubeError } from '../client/errors.ts';
import type { KubeObject, ObjectName } from '../client/object.ts';
import { RESOURCES } from '../client/resources.ts';

/** coordination.k8s.io/v1 Lease, with the fields that are used here. */
export interface Lease extends KubeObject {
  spec?: {
    holderIdentity?: string | null;
    leaseDurationSeconds?: number;
    acquireTime?: string;
    renewTime?: string;
    leaseTransitions?: number;
  };
}

export interface LeaseLockOptions {
  client: Pick<KubeClient, 'find' | 'create' | 'replace'>;
  lease: Required<ObjectName>;
  identity: string;
  leaseDurationMs: number;
  clock: Clock;
}

/**
 * Duration of a released lease in seconds. The API server requires a positive number, although the lease is free at
 * once.
 */
const RELEASED_SECONDS = 1;

/** A time in the format of MicroTime. The API server requires six fractional digits. */
export function microTime(date: Date): string {
  return date.toISOString().replace('Z', '000Z');
}

/** Attempts to hold a Lease. Every write is fenced by the resourceVersion that it is based on. */
export class LeaseLock {
  readonly #options: LeaseLockOptions;
  #observed: Lease | undefined;
  /**
   * The time at which this process first saw the record in its present state. A lease has expired according to the
   * clock of this process only.
   */
  #observedAt = 0;

  constructor(options: LeaseLockOptions) {
    this.#options = options;
  }

  /** Last known holder; undefined when the lease is free. */
  get holder(): string | undefined {
    return this.#observed?.spec?.holderIdentity || undefined;
  }

  /**
   * True when this call took or renewed the lease, false when another process holds it.
   * Fails with a KubeError when the state is unknown.
   */
  async acquireOrRenew(timeoutMs: number): Promise<boolean> {
    if (this.#observed !== undefined && this.holder === this.#options.identity) {
      // A leader usually needs no read: the resourceVersion reveals a change.
      const renewed = await this.#write(this.#observed, timeoutMs);
      if (renewed) return true;
    }
    const found = await this.#options.client.find<Lease>(RESOURCES.Lease, this.#options.lease, { timeoutMs });
    if (found === undefined) return this.#create(timeoutMs);
    this.#observe(found);
    if (this.#isHeldByAnother(found)) return false;
    return this.#write(found, timeoutMs);
  }

  /** Releases the lease if it is still held. Fails with a KubeError. */
  async release(timeoutMs: number): Promise<void> {
    const held = this.#observed;
    if (held === undefined || this.holder !== this.#options.identity) return;
    const now = microTime(this.#options.clock.date());
    const released = this.#record(held, {
      ...held.spec,
      holderIdentity: '',
      leaseDurationSeconds: RELEASED_SECONDS,
      renewTime: now,
      acquireTime: now,
    });
    this.#observe(await this.#options.client.replace(released, { timeoutMs }));
  }

  #isHeldByAnother(lease: Lease): boolean {
    const holder = lease.spec?.holderIdentity;
    if (!holder || holder === this.#options.identity) return false;
    const durationMs = (lease.spec?.leaseDurationSeconds ?? 0) * 1000 || this.#options.leaseDurationMs;
    return this.#options.clock.now() < this.#observedAt + durationMs;
  }

  /** false: another process was faster. */
  async #write(base: Lease, timeoutMs: number): Promise<boolean> {
    const { client, clock, identity, leaseDurationMs } = this.#options;
    const now = microTime(clock.date());
    const renewal = base.spec?.holderIdentity === identity;
    const next = this.#record(base, {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(leaseDurationMs / 1000),
      renewTime: now,
      acquireTime: renewal ? base.spec?.acquireTime : now,
      leaseTransitions: (base.spec?.leaseTransitions ?? 0) + (renewal ? 0 : 1),
    });
    try {
      // guard: version-in-lease-writes
      this.#observe(await client.replace(next, { timeoutMs }));
      return true;
    } catch (error) {
      if (isKubeError(error, 'conflict', 'not_found')) return false;
      throw error;
    }
  }

  async #create(timeoutMs: number): Promise<boolean> {
    const { client, clock, identity, lease, leaseDurationMs } = this.#options;
    const now = microTime(clock.date());
    const fresh: Lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { ...lease },
      spec: {
        holderIdentity: identity,
        leaseDurationSeconds: Math.ceil(leaseDurationMs / 1000),
        acquireTime: now,
        renewTime: now,
        leaseTransitions: 0,
      },
    };
    try {
      this.#observe(await client.create(fresh, { timeoutMs }));
      return true;
    } catch (error) {
      if (isKubeError(error, 'already_exists', 'conflict')) return false;
      throw error;
    }
  }

  #record(base: Lease, spec: Lease['spec']): Lease {
    const { labels, annotations, resourceVersion, uid } = base.metadata;
    const metadata = { ...this.#options.lease, resourceVersion, uid, labels, annotations };
    return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
  }

  #observe(lease: Lease): void {
    const before = this.#observed;
    this.#observed = lease;
    const same =
      before?.metadata.uid === lease.metadata.uid &&
      before?.metadata.resourceVersion === lease.metadata.resourceVersion;
    if (!same) this.#observedAt = this.#options.clock.now();
  }
}
