/**
 * Postpones the lookups of a namespace while none of them is answered, so that an outage of the DNS server does not fill the
 * queue with lookups that wait for their time limit. Each namespace, which belongs to one tenant, is judged by its own lookups.
 * Otherwise, a tenant whose zones do not answer could stop the lookups of all others. Times are ms of the monotonic clock.
 */
export class DnsOutages {
  readonly #byNamespace = new Map<string, Outage>();

  /** Until when the lookups of the namespace are postponed; null: they are not. */
  until(namespace: string, now: number): number | null {
    const retryAt = this.#byNamespace.get(namespace)?.retryAt ?? now;
    return retryAt > now ? retryAt : null;
  }

  /** Notes whether a lookup was answered. After a pause, the first failure starts the next pause. */
  note(namespace: string, isAnswered: boolean, now: number): void {
    if (isAnswered) {
      this.#byNamespace.delete(namespace);
      return;
    }
    const { failures, pauses, retryAt } = this.#byNamespace.get(namespace) ?? NONE;
    const starts = failures + 1 >= MAX_FAILURES && retryAt <= now;
    const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(pauses, 8));
    if (this.#byNamespace.size >= MAX_NAMESPACES) this.#byNamespace.clear();
    this.#byNamespace.set(namespace, {
      failures: failures + 1,
      pauses: starts ? pauses + 1 : pauses,
      retryAt: starts ? now + pauseMs : retryAt,
    });
  }
}

interface Outage {
  /** Number of lookups in a row without an answer. */
  readonly failures: number;
  readonly pauses: number;
  readonly retryAt: number;
}

const NONE: Outage = { failures: 0, pauses: 0, retryAt: Number.NEGATIVE_INFINITY };

/** Number of lookups in a row without an answer that start a pause. */
const MAX_FAILURES = 4;
const FIRST_PAUSE_MS = 5_000;
/** Shorter than the longest pause of a host, so that the hosts of a namespace take turns. */
const LONGEST_PAUSE_MS = 30_000;
/** Bounds the memory. Namespaces that are deleted during an outage leave an entry. */
const MAX_NAMESPACES = 10_000;
