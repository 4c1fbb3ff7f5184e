import { ownServicesOf } from '../workloads/app-env.ts';
import type { PodTemplates } from '../workloads/desired-object.ts';
import { cacheState, databaseState } from './data-services.ts';
import type { Observed, ObservedResource } from './observed.ts';
import type { Target } from './target.ts';

/** Which of database and cache the templates of the active revision use, and those of the target. */

function activeTemplates({ resource, storedTemplates }: Observed): PodTemplates | undefined {
  const name = resource.status?.activeRevision?.templates;
  return storedTemplates.find((stored) => stored.name === name)?.templates();
}

/**
 * The resource with the data services that something still runs on. A change to an external database may fail, and then
 * what ran before runs again: until the change is through, the own database is wanted, whatever the spec says.
 */
export function keepingInUse(
  resource: ObservedResource,
  observed: Observed,
  target: Target,
): ObservedResource {
  const { database, cache } = resource.spec;
  if (!database.external && !cache.external) return resource;
  const used = [target.templates, activeTemplates(observed)].map((templates) =>
    ownServicesOf(resource, templates ?? {}),
  );
  const spec = {
    ...resource.spec,
    database: { ...database, external: database.external && !used.some((own) => own.database) },
    cache: { ...cache, external: cache.external && !used.some((own) => own.cache) },
  };
  return { ...resource, spec };
}

/**
 * The rollout brings the app to a database or cache of its own that what runs does not use: it waits for it, as the very
 * first one does. Where what runs uses it too, nothing is held up: a new revision may be what mends it.
 */
export function awaitsNewService(observed: Observed, target: Target): boolean {
  if (target.kind !== 'rollout') return false;
  const active = activeTemplates(observed);
  if (active === undefined) return false;
  const before = ownServicesOf(observed.resource, active);
  const after = ownServicesOf(observed.resource, target.templates ?? {});
  return (
    (after.database && !before.database && !databaseState(observed).ready) ||
    (after.cache && !before.cache && !cacheState(observed).ready)
  );
}
