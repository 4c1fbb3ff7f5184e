import { type MonotonicClock, monotonicClock } from '../../../domain/core/monotonic-clock.ts';
import type { KubeClient } from '../client/client-types.ts';
import type { ObjectName } from '../client/object.ts';
import { RESOURCES } from '../client/resources.ts';

/** Answers of a moment ago count. */
const ASK_EVERY_MS = 5_000;
const TIMEOUT_MS = 3_000;

/**
 * What tells why the cluster does not answer; null: it does. A Lease is read from where the cluster keeps everything; its
 * version would be told by a server that has lost that. Whether there is one, and who holds it, is of no interest.
 */
export function leaseProbe(
  client: Pick<KubeClient, 'find'>,
  lease: ObjectName,
  clock: Pick<MonotonicClock, 'now'> = monotonicClock,
): () => Promise<string | null> {
  let asked: { readonly at: number; readonly answer: Promise<string | null> } | undefined;
  return () => {
    const now = clock.now();
    if (asked === undefined || now - asked.at >= ASK_EVERY_MS) {
      const answer = client.find(RESOURCES.Lease, lease, { timeoutMs: TIMEOUT_MS }).then(
        () => null,
        () => 'the cluster does not answer',
      );
      asked = { at: now, answer };
    }
    return asked.answer;
  };
}
