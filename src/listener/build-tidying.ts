import type { Logger } from '../domain/logger.ts';
import type { Clock } from '../kube/clock.ts';
import { runWorkers } from '../kube/controller.ts';
import { WorkQueue } from '../kube/work-queue.ts';
import { type BuildSecrets, hasEnded } from './build-secrets.ts';
import { TermOver } from './refusal.ts';
import type { Resource, ResourceView } from './resource-view.ts';
import type { Term } from './term.ts';

/** Removes the credentials of builds as soon as they are over, and now and then whatever was left. */

export interface TidyingOptions {
  readonly builds: BuildSecrets;
  readonly view: ResourceView;
  readonly term: Term;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Fires: take no more. */
  readonly signal: AbortSignal;
  /** Fires: end what is under way. */
  readonly abort: AbortSignal;
}

/** All Secrets are looked at together: the one key of the queue. */
const ALL = 'builds';
/** Several builds that end at once are one look. */
const GATHER_MS = 200;
const PAUSE_MS = 600_000;

/** Resolves when the signal has fired and nothing runs any more. */
export async function tidyBuilds(options: TidyingOptions): Promise<void> {
  const { builds, view, term, logger, clock, signal, abort } = options;
  const queue = new WorkQueue({ clock });
  const wake = () => queue.addAfter(ALL, GATHER_MS);
  const isNews = (resource: Resource, old: Resource) =>
    (hasEnded(resource) && !hasEnded(old)) ||
    resource.spec?.build?.secretName !== old.spec?.build?.secretName;
  const unfollow = view.addHandlers({
    added: (resource) => hasEnded(resource) && wake(),
    updated: (resource, old) => isNews(resource, old) && wake(),
    deleted: (resource) => resource.spec?.build !== undefined && wake(),
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
