import type { HubClient } from './hub-client.ts';

/**
 * Confirmation that this cluster may act for the listener. The hub confirms this when it grants the lease after it
 * received the id of the cluster. A lease that was granted while the cluster did not respond is no confirmation.
 */
export interface Admission {
  /** The hub client, whose responses to lease calls are observed. */
  hub: HubClient;
  /** Resolves with the first confirmation, or when the signal fires. */
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
