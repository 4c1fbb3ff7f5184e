import { type MonotonicClock, monotonicClock } from '../../../domain/core/monotonic-clock.ts';
import type { KubeClient } from '../client/client-types.ts';
import type { ObjectName } from '../client/object.ts';
import { RESOURCES } from '../client/resources.ts';

/** Time for which results are cached. */
const ASK_EVERY_MS = 5_000;
const TIMEOUT_MS = 3_000;

/**
 * Returns why the cluster does not respond; null: it responds. The probe reads a Lease, which the API server stores in
 * etcd. A read of the server version would not detect a failed etcd, because a server without etcd still returns its
 * version. The content of the Lease does not matter.
 */
export function leaseProbe(
  client: Pick<KubeClient, 'find'>,
  lease: ObjectName,
  clock: Pick<MonotonicClock, 'now'> = monotonicClock,
): () => Promise<string | null> {
  let last: { readonly at: number; readonly answer: Promise<string | null> } | undefined;
  return () => {
    const now = clock.now();
    if (last === undefined || now - last.at >= ASK_EVERY_MS) {
      const answer = client.find(RESOURCES.Lease, lease, { timeoutMs: TIMEOUT_MS }).then(
        () => null,
        () => 'the cluster does not respond',
      );
      last = { at: now, answer };
    }
    return last.answer;
  };
}
