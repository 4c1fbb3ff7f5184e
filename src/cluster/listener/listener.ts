import { actDuringTerm } from './act.ts';
import type { ListenerOptions } from './listener-options.ts';
import { createParts } from './listener-parts.ts';
import { runTerms } from './session/term.ts';

/**
 * Connects the hub and the custom resources. The listener takes the hub's lease, applies desired state, and reports
 * observed state.
 */

/**
 * Runs the listener until the signal fires. When the signal fires, finishes current work, sends the remaining reports,
 * releases the lease and resolves, within 10 s. A listener may run as several processes. The hub's lease selects the
 * process that acts.
 */
export async function runListener(options: ListenerOptions, signal: AbortSignal): Promise<void> {
  const parts = createParts(options);
  const { identity, version, namespaces, logger } = options;
  const { view, probe, admission, clock, random } = parts;
  view.start();
  try {
    await runTerms(
      {
        hub: admission.hub,
        identity,
        version,
        namespaces: namespaces.length === 0 ? null : namespaces,
        clusterFacts: (mostMs) => probe.facts(mostMs),
        isClusterResponding: () => probe.isResponding,
        ...(options.onHubAnswer === undefined ? {} : { onAnswer: options.onHubAnswer }),
        act: (term) => actDuringTerm(parts, term, signal),
        logger,
        clock,
        random,
      },
      signal,
    );
  } finally {
    await view.stop();
  }
}
