import { LABELS } from '../../../contract/resource/names.ts';
import type { DesiredObject } from '../../../workloads/desired-object.ts';
import { type DataImages, recordedDatabaseImage } from '../observe/data-images.ts';
import type { Failure } from '../observe/failure.ts';
import { childId, type Forbidden, type Observed } from '../observed.ts';
import { isPinnedFor } from '../rollout/pinned-service-templates.ts';
import { shortened } from '../status/conditions.ts';

/**
 * What a custom resource may not ask of its database and cache. These are no part of a revision: nothing is made for a
 * service whose spec is refused, and one that is there keeps running as it was last allowed to.
 */

export const DATA_SERVICES = ['database', 'cache'] as const;
export type DataService = (typeof DATA_SERVICES)[number];

/** The service that a path of the custom resource belongs to; null: to the revision. */
export function serviceOf({ resourcePath }: Pick<Forbidden, 'resourcePath'>): DataService | null {
  return DATA_SERVICES.find((service) => resourcePath.startsWith(`spec.${service}.`)) ?? null;
}

/**
 * What is refused of each service. The image of a database that was made already is recorded, and no longer read; a
 * service that runs with just what is asked was allowed by an earlier version, and stays.
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

/** Without the objects of a refused service that are not there yet. */
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

/** The recorded images, without one that was never allowed: it must not count as the one to keep. */
export function allowedImages(images: DataImages, observed: Observed): DataImages {
  const isRefused = refusedServices(observed)
    .get('database')
    ?.some(({ resourcePath }) => resourcePath === 'spec.database.image');
  if (!isRefused) return images;
  const { database: _, ...others } = images;
  return others;
}

/** The refusals as failures, so that the status names the field. Nothing is done about them until the spec changes. */
export function serviceFailures(observed: Observed): Failure[] {
  return [...refusedServices(observed)].map(([service, parts]) => {
    const why = parts.map(({ resourcePath, message }) => `${resourcePath}: ${message}`).join('; ');
    const message = shortened(`${why}; the ${service} is not changed until this is`);
    return { actionId: `confined ${service}`, reason: 'Refused', final: false, message };
  });
}
