import type { Logger } from '../../../domain/core/logger.ts';
import type { Clock } from '../../kube/client/clock.ts';
import { keyOf } from '../../kube/client/object.ts';
import { runWorkers } from '../../kube/queue/controller.ts';
import { WorkQueue } from '../../kube/queue/work-queue.ts';
import { TermOver } from '../refusal.ts';
import type { Resource, ResourceView } from '../resource-view.ts';
import type { Term } from '../session/term.ts';
import { type BuildSecrets, buildHasEnded } from './build-secrets.ts';

/** Removes the credentials of a build as soon as it ends, and removes leftover credentials at intervals. */

export interface BuildCleanupOptions {
  readonly builds: Pick<BuildSecrets, 'tidy'>;
  readonly view: Pick<ResourceView, 'covers' | 'trouble' | 'get' | 'addHandlers'>;
  readonly term: Term;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Fires to stop new work. */
  readonly signal: AbortSignal;
  /** Fires to abort current work. */
  readonly abort: AbortSignal;
}

/** All Secrets are checked together, so the queue has a single key. */
const ALL = 'builds';
/** Several builds that end at the same time cause one check. */
const GATHER_MS = 200;
const PAUSE_MS = 600_000;

/**
 * The Secret that each resource requested at the last event. The previous state in the event may lack the former
 * Secret, because the listener's own write is in the cache before its event is handled.
 */
class RequestedSecrets {
  readonly #names = new Map<string, string>();

  /** @returns whether the resource requested another Secret before */
  note(resource: Resource): boolean {
    const key = keyOf(resource);
    const before = this.#names.get(key);
    const name = resource.spec?.build?.secretName;
    if (name === undefined) this.#names.delete(key);
    else this.#names.set(key, name);
    return before !== undefined && before !== name;
  }

  forget(resource: Resource): void {
    this.#names.delete(keyOf(resource));
  }
}

/** Resolves when the signal has fired and all work has ended. */
export async function cleanUpBuilds(options: BuildCleanupOptions): Promise<void> {
  const { builds, view, term, logger, clock, signal, abort } = options;
  const queue = new WorkQueue({ clock });
  const wake = () => queue.addAfter(ALL, GATHER_MS);
  const requested = new RequestedSecrets();
  const unfollow = view.addHandlers({
    added: (resource) => {
      requested.note(resource);
      if (buildHasEnded(resource)) wake();
    },
    updated: (resource, old) => {
      const another = requested.note(resource);
      if (another || (buildHasEnded(resource) && !buildHasEnded(old))) wake();
    },
    deleted: (resource) => {
      requested.forget(resource);
      if (resource.spec?.build !== undefined) wake();
    },
  });
  const guard = () => {
    if (!term.isValid()) throw new TermOver();
  };
  wake();
  try {
    await runWorkers({
      queue,
      reconcile: async (_, ending) => {
        await builds.tidy(view, guard, ending);
        return { kind: 'requeue', afterMs: PAUSE_MS };
      },
      workers: 1,
      logger,
      signal,
      abort,
    });
  } finally {
    unfollow();
  }
}
