import { act } from './act.ts';
import type { ListenerOptions } from './listener-options.ts';
import { createParts } from './listener-parts.ts';
import { runTerms } from './session/term.ts';

/** Hub ↔ custom resources: takes the hub's lease, applies what is wanted, reports what is there. */

/**
 * Runs the listener until the signal fires; then ends work under way, sends what there is to tell, releases the lease
 * and resolves, within 10 s. Several processes of one listener may run: the hub's lease chooses the one that acts.
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
        clusterFacts: () => probe.facts(),
        ...(options.onHubAnswer === undefined ? {} : { onAnswer: options.onHubAnswer }),
        act: (term) => act(parts, term, signal),
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
