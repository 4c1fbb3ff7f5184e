import type { RenderConfig } from '../../../contract/render/render-config.ts';
import type { ManagedDeploymentStatus } from '../../../contract/resource/managed-deployment.ts';
import { ANNOTATIONS } from '../../../contract/resource/names.ts';
import { databaseName } from '../../../workloads/names.ts';
import { liveChild, type Observed, type ObservedResource } from '../observed.ts';

export type DataImages = NonNullable<ManagedDeploymentStatus['dataImages']>;

/** The image that the database was made with: by the status, else by its volume. undefined: it was not made yet. */
export function recordedDatabaseImage(observed: Observed): string | undefined {
  const { resource } = observed;
  const volume = liveChild(observed, 'PersistentVolumeClaim', databaseName(resource));
  return resource.status?.dataImages?.database ?? volume?.metadata.annotations?.[ANNOTATIONS.databaseImage];
}

/**
 * Images of the data services, fixed when they are made: a new default of the operator moves neither. They are kept in
 * the status, out of reach of whoever edits the workloads; a custom resource that was lost and made again finds the
 * database's on its volume.
 */
export function chooseDataImages(
  observed: Observed,
  wanted: ObservedResource,
  config: RenderConfig,
): DataImages {
  const { database, cache } = wanted.spec;
  const recorded = observed.resource.status?.dataImages ?? {};
  return {
    ...(database.external
      ? {}
      : { database: recordedDatabaseImage(observed) ?? database.image ?? config.databaseImage }),
    ...(cache.external ? {} : { cache: recorded.cache ?? config.cacheImage }),
  };
}
