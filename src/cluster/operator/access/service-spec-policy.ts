import { LABELS } from '../../../contract/resource/names.ts';
import type { DesiredObject } from '../../../workloads/desired-object.ts';
import { type DataImages, recordedDatabaseImage } from '../observe/data-images.ts';
import type { Failure } from '../observe/failure.ts';
import { childId, type Forbidden, type Observed } from '../observed.ts';
import { isPinnedFor } from '../rollout/pinned-service-templates.ts';
import { shortened } from '../status/conditions.ts';
import { DATA_SERVICES, type DataService } from '../status/service-trouble.ts';

/**
 * Policy for database and cache, which are not part of a revision. A service with a rejected spec is not created, and
 * an existing service keeps its last allowed state.
 */

/** The service of a path in the custom resource; null: the path belongs to the revision. */
export function serviceOf({ resourcePath }: Pick<Forbidden, 'resourcePath'>): DataService | null {
  return DATA_SERVICES.find((service) => resourcePath.startsWith(`spec.${service}.`)) ?? null;
}

/**
 * Rejected fields per service. The image of an existing database is recorded, and the spec's value is not read. A
 * service that already runs with the requested value was allowed by an earlier version, and is kept.
 */
export function refusedServices(observed: Observed): ReadonlyMap<DataService, readonly Forbidden[]> {
  const image = recordedDatabaseImage(observed);
  const found = (observed.forbidden ?? []).filter(
    ({ resourcePath }) => resourcePath !== 'spec.database.image' || image === undefined,
  );
  const refused = new Map<DataService, readonly Forbidden[]>();
  for (const service of DATA_SERVICES) {
    const parts = found.filter((each) => serviceOf(each) === service);
    const used = service === 'database' ? image : observed.resource.status?.dataImages?.cache;
    if (parts.length > 0 && !isPinnedFor(observed, service, used)) refused.set(service, parts);
  }
  return refused;
}

/** Removes the objects of a rejected service from the desired objects, unless they exist. */
export function withoutRefusedServices(
  desired: readonly DesiredObject[],
  observed: Observed,
): DesiredObject[] {
  const refused = refusedServices(observed);
  if (refused.size === 0) return [...desired];
  return desired.filter(({ object: { kind, metadata } }) => {
    const component = metadata.labels?.[LABELS.component];
    const isRefused = DATA_SERVICES.some((service) => service === component && refused.has(service));
    return !isRefused || observed.children.has(childId(kind, metadata.name));
  });
}

/** The recorded images, without an image that was never allowed and must not be kept. */
export function allowedImages(images: DataImages, observed: Observed): DataImages {
  const isRefused = refusedServices(observed)
    .get('database')
    ?.some(({ resourcePath }) => resourcePath === 'spec.database.image');
  if (!isRefused) return images;
  const { database: _, ...others } = images;
  return others;
}

/** The rejections as failures, so that the status names the field. Only another spec or another policy is accepted. */
export function serviceFailures(observed: Observed): Failure[] {
  return [...refusedServices(observed)].map(([service, parts]) => {
    const why = parts.map(({ resourcePath, message }) => `${resourcePath}: ${message}`).join('; ');
    const message = shortened(`${why}; the ${service} is not changed until this field is corrected`);
    return { actionId: `confined ${service}`, reason: 'Refused', final: true, message };
  });
}
