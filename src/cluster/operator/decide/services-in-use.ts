import type { PodTemplates } from '../../../workloads/desired-object.ts';
import { ownServicesOf } from '../../../workloads/objects/app-env.ts';
import { cacheState, databaseState } from '../observe/data-services.ts';
import type { Observed, ObservedResource } from '../observed.ts';
import type { Target } from '../rollout/target.ts';

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

type Service = 'database' | 'cache';

/** Data services of its own that the target's pods use and that do not answer. */
export function servicesMissing({ resource, ...observed }: Observed, target: Target): Service[] {
  const own = ownServicesOf(resource, target.templates ?? {});
  const used = { ...observed, resource: withServices(resource, own) };
  return [
    ...(databaseState(used).ready ? [] : (['database'] as const)),
    ...(cacheState(used).ready ? [] : (['cache'] as const)),
  ];
}

/**
 * Those that the rollout brings the app to and that what runs does not use: it waits for them, as the very first one
 * does. Where what runs uses it too, nothing is held up: a new revision may be what mends it.
 */
export function newServicesMissing(observed: Observed, templates: PodTemplates): Service[] {
  const active = activeTemplates(observed);
  if (active === undefined) return [];
  const before = ownServicesOf(observed.resource, active);
  const after = ownServicesOf(observed.resource, templates);
  const isMissing = {
    database: after.database && !before.database && !databaseState(observed).ready,
    cache: after.cache && !before.cache && !cacheState(observed).ready,
  };
  return (['database', 'cache'] as const).filter((service) => isMissing[service]);
}

/** The resource with the data services of what is active; before anything is, with the wanted ones. */
export function asServed(observed: Observed): ObservedResource {
  const active = activeTemplates(observed);
  if (active === undefined) return observed.resource;
  return withServices(observed.resource, ownServicesOf(observed.resource, active));
}

function withServices(resource: ObservedResource, own: Record<Service, boolean>): ObservedResource {
  const { database, cache } = resource.spec;
  const spec = {
    ...resource.spec,
    database: { ...database, external: !own.database },
    cache: { ...cache, external: !own.cache },
  };
  return { ...resource, spec };
}
