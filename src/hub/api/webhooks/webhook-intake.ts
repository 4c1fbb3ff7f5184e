import { ApiError } from '../core/errors.ts';

/**
 * Limits the memory of webhook deliveries that are not authenticated yet, so that a sender with many open deliveries
 * cannot fill the process. The limits apply per process.
 */

interface Limit {
  /** Number of deliveries that are being read. */
  readonly count: number;
  /** Total bytes of the bodies that are being read. */
  readonly bytes: number;
}

export interface IntakeLimits {
  readonly total: Limit;
  readonly integration: Limit;
  /** Limits of one address, or of one /64 of IPv6. */
  readonly network: Limit;
}

const MEBIBYTE = 1024 * 1024;

/**
 * The default limits. A pod has 512 MiB by default. A delivery is usually read within a moment. Bodies of GitHub have a
 * few KiB, and rarely 8 MiB. A delivery occupies a slot before it is authenticated, so a few networks must not get all
 * slots. A git host delivers for many tenants from one network, and sends 50 deliveries at once when a push changes 50
 * branches.
 */
const LIMITS: IntakeLimits = {
  total: { count: 1024, bytes: 64 * MEBIBYTE },
  integration: { count: 128, bytes: 32 * MEBIBYTE },
  network: { count: 64, bytes: 16 * MEBIBYTE },
};

const RETRY_AFTER_SECONDS = 1;

interface Held {
  readonly limit: Limit;
  count: number;
  bytes: number;
}

/** The resources that one delivery uses. */
export interface IntakeShare {
  /** Reserves additional bytes. @throws ApiError 429 */
  grow(bytes: number): void;
  /** Releases all resources. Must be called exactly once. */
  end(): void;
}

const full = () =>
  new ApiError(429, 'Too many deliveries are being read. Try again later.', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });

/** Counts the used resources: in total, and by each name of a delivery. */
export class WebhookIntake {
  readonly #limits: IntakeLimits;
  readonly #total: Held;
  readonly #held = new Map<string, Held>();

  constructor(limits: IntakeLimits = LIMITS) {
    this.#limits = limits;
    this.#total = { limit: limits.total, count: 0, bytes: 0 };
  }

  /** Number of names in use. Names without resources are removed. */
  get size(): number {
    return this.#held.size;
  }

  /**
   * Called when the read of a delivery begins.
   * @param names names for which the delivery counts: the integration and the network
   * @throws ApiError 429 when too many deliveries are being read
   */
  begin(names: readonly [integration: string, network: string]): IntakeShare {
    const { integration, network } = this.#limits;
    const all = [this.#total, this.#heldBy(names[0], integration), this.#heldBy(names[1], network)];
    if (all.some(({ limit, count }) => count >= limit.count)) throw full();
    for (const [index, name] of names.entries()) this.#held.set(name, all[index + 1] as Held);
    for (const held of all) held.count += 1;
    let own = 0;
    return {
      grow: (bytes) => {
        if (all.some((held) => held.bytes + bytes > held.limit.bytes)) throw full();
        own += bytes;
        for (const held of all) held.bytes += bytes;
      },
      end: () => {
        for (const held of all) {
          held.count -= 1;
          held.bytes -= own;
        }
        for (const name of names) if (this.#held.get(name)?.count === 0) this.#held.delete(name);
      },
    };
  }

  #heldBy(name: string, limit: Limit): Held {
    return this.#held.get(name) ?? { limit, count: 0, bytes: 0 };
  }
}

const FIRST_BYTES = 16 * 1024;

/** Collects bytes in one buffer. The buffer takes at most twice the size of the bytes, however small the pieces are. */
export class GrowingBuffer {
  readonly #grow: IntakeShare['grow'];
  #buffer = Buffer.alloc(0);
  #size = 0;

  /** @param grow called before the buffer grows */
  constructor(grow: IntakeShare['grow']) {
    this.#grow = grow;
  }

  add(chunk: Buffer): void {
    const needed = this.#size + chunk.length;
    if (needed > this.#buffer.length) {
      const room = Math.max(FIRST_BYTES, needed, this.#buffer.length * 2);
      this.#grow(room - this.#buffer.length);
      const next = Buffer.allocUnsafeSlow(room);
      this.#buffer.copy(next, 0, 0, this.#size);
      this.#buffer = next;
    }
    chunk.copy(this.#buffer, this.#size);
    this.#size = needed;
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#size);
  }
}
