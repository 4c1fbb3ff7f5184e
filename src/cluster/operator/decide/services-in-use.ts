import type { PodTemplates } from '../../../workloads/desired-object.ts';
import { ownServicesOf } from '../../../workloads/objects/app-env.ts';
import { cacheState, databaseState } from '../observe/data-services.ts';
import type { Observed, ObservedResource } from '../observed.ts';
import type { Target } from '../rollout/target.ts';

/** Which data services the templates of the active revision and of the target use. */

/** The templates of the active revision. undefined: no revision is active, or its templates are missing. */
export function activeTemplates({ resource, storedTemplates }: Observed): PodTemplates | undefined {
  const name = resource.status?.activeRevision?.templates;
  return storedTemplates.find((stored) => stored.name === name)?.templates();
}

/**
 * The resource with the data services that running templates still use. A change to an external database may fail and
 * be rolled back. Therefore the own database is kept until the change is complete, even if the spec no longer has it.
 */
export function keepServicesInUse(
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

/** Own data services that the target's pods use and that are not ready. */
export function servicesMissing({ resource, ...observed }: Observed, target: Target): Service[] {
  const own = ownServicesOf(resource, target.templates ?? {});
  const used = { ...observed, resource: withServices(resource, own) };
  return [
    ...(databaseState(used).ready ? [] : (['database'] as const)),
    ...(cacheState(used).ready ? [] : (['cache'] as const)),
  ];
}

/**
 * Own data services that are not ready and that only the new templates use, not the active templates. Like the first
 * rollout, the rollout waits for these services. The rollout does not wait for a service that the active templates also
 * use, because the new revision may fix that service.
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

/**
 * The resource with the data services of the active revision, or with the desired data services if no revision is
 * active yet.
 */
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
