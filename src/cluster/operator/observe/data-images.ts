import type { RenderConfig } from '../../../contract/render/render-config.ts';
import type { ManagedDeploymentStatus } from '../../../contract/resource/managed-deployment.ts';
import { ANNOTATIONS } from '../../../contract/resource/names.ts';
import { runsService } from '../../../workloads/data-services.ts';
import { databaseName } from '../../../workloads/names.ts';
import { liveChild, type Observed, type ObservedResource } from '../observed.ts';

export type DataImages = NonNullable<ManagedDeploymentStatus['dataImages']>;

/**
 * The image that the database was created with, from the status or the annotation of its volume claim; undefined:
 * not created yet.
 */
export function recordedDatabaseImage(observed: Observed): string | undefined {
  const { resource } = observed;
  const volume = liveChild(observed, 'PersistentVolumeClaim', databaseName(resource));
  return resource.status?.dataImages?.database ?? volume?.metadata.annotations?.[ANNOTATIONS.databaseImage];
}

/**
 * Images of the data services. The images are fixed at creation, so a new default of the operator changes neither of
 * them. The status keeps them, because users who edit workloads cannot write it. A recreated custom resource finds the
 * database image on the volume claim.
 */
export function chooseDataImages(
  observed: Observed,
  wanted: ObservedResource,
  config: RenderConfig,
): DataImages {
  const { spec } = wanted;
  const recorded = observed.resource.status?.dataImages ?? {};
  return {
    ...(runsService(spec, 'database')
      ? { database: recordedDatabaseImage(observed) ?? spec.database.image ?? config.databaseImage }
      : {}),
    ...(runsService(spec, 'cache') ? { cache: recorded.cache ?? config.cacheImage } : {}),
  };
}
