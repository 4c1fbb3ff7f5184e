import {
  DATA_SERVICE_NAMES,
  type DataServiceName,
  type PerService,
  type Provider,
  runsService,
  withProviders,
} from '../../../workloads/data-services.ts';
import type { PodTemplates } from '../../../workloads/desired-object.ts';
import { ownServicesOf } from '../../../workloads/objects/app-env.ts';
import { cacheState, databaseState } from '../observe/data-services.ts';
import type { Observed, ObservedResource, ObservedTemplates } from '../observed.ts';
import type { Target } from '../rollout/target.ts';

/** Which data services the templates of the active revision and of the target use. */

function storedActive({ resource, storedTemplates }: Observed): ObservedTemplates | undefined {
  const name = resource.status?.activeRevision?.templates;
  return storedTemplates.find((stored) => stored.name === name);
}

/** The templates of the active revision. undefined: no revision is active, or its templates are missing. */
export function activeTemplates(observed: Observed): PodTemplates | undefined {
  return storedActive(observed)?.templates();
}

/**
 * The resource with the data services that running templates still use. A change to an external database, or to none, may
 * fail and be rolled back. Therefore the own database is kept until the change is complete, even if the spec no longer has
 * it.
 */
export function keepServicesInUse(
  resource: ObservedResource,
  observed: Observed,
  target: Target,
): ObservedResource {
  const { spec } = resource;
  if (DATA_SERVICE_NAMES.every((service) => runsService(spec, service))) return resource;
  const used = [target.templates, activeTemplates(observed)].map((templates) =>
    ownServicesOf(resource, templates ?? {}),
  );
  const kept = DATA_SERVICE_NAMES.filter(
    (service) => !runsService(spec, service) && used.some((own) => own[service]),
  );
  return withProviders(resource, Object.fromEntries(kept.map((service) => [service, 'berth'])));
}

/** Whether the database is to run, because the spec or running templates need it. */
export function needsDatabase(observed: Observed, target: Target): boolean {
  return runsService(keepServicesInUse(observed.resource, observed, target).spec, 'database');
}

/** Own data services that the target's pods use and that are not ready. */
export function servicesMissing({ resource, ...observed }: Observed, target: Target): DataServiceName[] {
  const own = ownServicesOf(resource, target.templates ?? {});
  const used = { ...observed, resource: withProviders(resource, providersOf(own, [])) };
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
export function newServicesMissing(observed: Observed, templates: PodTemplates): DataServiceName[] {
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
 * active yet. A service that the active pods do not have at all is as in the spec: if the spec has it, its real state is
 * reported, although the active pods do not use it yet.
 */
export function asServed(observed: Observed): ObservedResource {
  const { resource } = observed;
  const active = storedActive(observed);
  if (active === undefined) return resource;
  const served = providersOf(ownServicesOf(resource, active.templates()), active.lacking());
  const known = DATA_SERVICE_NAMES.filter((service) => served[service] !== 'none');
  return withProviders(resource, Object.fromEntries(known.map((service) => [service, served[service]])));
}

/** Who provides the data services of pods. @param lacking the services that the pods do not have at all */
function providersOf(
  own: PerService,
  lacking: readonly DataServiceName[],
): Record<DataServiceName, Provider> {
  const provider = (service: DataServiceName): Provider =>
    own[service] ? 'berth' : lacking.includes(service) ? 'none' : 'tenant';
  return { database: provider('database'), cache: provider('cache') };
}
