import { ApiError } from '../core/errors.ts';

/**
 * What deliveries of webhooks may hold in memory while it is not known yet whether they know a secret: whoever keeps many
 * of them open must not fill the process. The limits are of one process.
 */

interface Limit {
  /** Deliveries that are being read. */
  readonly count: number;
  /** Bytes of them that are kept. */
  readonly bytes: number;
}

export interface IntakeLimits {
  readonly total: Limit;
  readonly integration: Limit;
  /** Of one address, or of one /64 of IPv6. */
  readonly network: Limit;
}

const MEBIBYTE = 1024 * 1024;

/**
 * A pod has 512 MiB by default. A delivery is read in a moment; GitHub's are a few KiB, and rarely 8 MiB. It needs no secret
 * to take a place, so no few networks may hold them all; a git host delivers for many tenants from one, 50 times at
 * once where a push moves as many branches.
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

/** The share of one delivery. */
export interface IntakeShare {
  /** Asks for room for so many bytes more. @throws ApiError 429 */
  grow(bytes: number): void;
  /** Gives everything back; once. */
  end(): void;
}

const full = () =>
  new ApiError(429, 'Too many deliveries are being read. Try again later.', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });

/** Counts what is held: in all, and by whatever a delivery is counted by. */
export class WebhookIntake {
  readonly #limits: IntakeLimits;
  readonly #total: Held;
  readonly #held = new Map<string, Held>();

  constructor(limits: IntakeLimits = LIMITS) {
    this.#limits = limits;
    this.#total = { limit: limits.total, count: 0, bytes: 0 };
  }

  /** How many names are remembered: none of those that hold nothing. */
  get size(): number {
    return this.#held.size;
  }

  /**
   * Begins to read a delivery.
   * @param names what it is counted by: the integration and the network
   * @throws ApiError 429 where too many are being read
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

/** Bytes in one piece: however small the pieces that they came in, they take at most twice their size. */
export class GrowingBuffer {
  readonly #grow: IntakeShare['grow'];
  #buffer = Buffer.alloc(0);
  #size = 0;

  /** @param grow asked before there is more room */
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
