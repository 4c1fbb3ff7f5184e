import type { HubClient } from './hub-client.ts';

/**
 * The hub's word that this cluster may act for the listener: it has granted the lease after it was told which cluster
 * this is. A lease that was granted while the cluster did not answer does not say so.
 */
export interface Admission {
  /** The hub; what it answers to calls for the lease is heard. */
  hub: HubClient;
  /** Resolves with the first such answer, or when the signal fires. */
  wait(signal: AbortSignal): Promise<void>;
}

export function createAdmission(hub: HubClient): Admission {
  const admitted = Promise.withResolvers<void>();
  return {
    hub: {
      ...hub,
      async lease(request, options) {
        const answer = await hub.lease(request, options);
        if (request.cluster_reachable === true) admitted.resolve();
        return answer;
      },
    },
    wait: (signal) => Promise.race([admitted.promise, fired(signal)]),
  };
}

/** Resolves when the signal fires. */
export function fired(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
