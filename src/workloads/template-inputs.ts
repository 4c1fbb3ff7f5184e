import type { ManagedDeployment } from '../contract/managed-deployment.ts';
import { pullSecretName } from '../contract/names.ts';
import { contentHash, fullHash } from '../domain/hash.ts';
import { COMPONENTS } from '../domain/resource-spec.ts';
import { deploymentId } from './labels.ts';

/**
 * Exactly the parts of the resource that feed its pod templates. The operator's configuration and version are not
 * among them: an upgrade renders new revisions its new way and restarts nothing. Neither are scales: how many pods
 * run is not what they are; nor is the source, which never changes.
 */
export function templateInputs(resource: ManagedDeployment): unknown {
  const { spec, metadata } = resource;
  const { components, database, cache } = spec;
  return {
    name: metadata.name,
    deploymentId: deploymentId(resource),
    tenantId: spec.tenantId,
    displayName: spec.displayName,
    revision: spec.revision,
    resources: Object.fromEntries(
      COMPONENTS.filter((component) => components[component] !== undefined).map((component) => [
        component,
        components[component]?.resources ?? null,
      ]),
    ),
    database: { external: database.external, poolSize: database.poolSize },
    cache: { external: cache.external },
    podTemplate: spec.podTemplate,
    tracing: tracingInputs(resource),
  };
}

/**
 * Of a recorded revision the names of exporter variables follow from its secrets, which never change: they are left out, so
 * that a hub that names them for the first time restarts nothing.
 */
function tracingInputs({ spec }: ManagedDeployment): unknown {
  const { exporterVariables, ...tracing } = spec.tracing;
  return spec.revision.id !== undefined || exporterVariables === undefined ? tracing : spec.tracing;
}

/**
 * Exactly the parts of the resource that feed the pods of a data service. As above: no operator's configuration, no
 * version of it.
 * @param image the one recorded for the service
 */
export function dataServiceInputs(
  resource: ManagedDeployment,
  service: 'database' | 'cache',
  image: string | undefined,
): unknown {
  const { spec, metadata } = resource;
  const { resources, maxConnections } = spec.database;
  return {
    name: metadata.name,
    deploymentId: deploymentId(resource),
    tenantId: spec.tenantId,
    image,
    ...(service === 'database'
      ? { resources, maxConnections }
      : { resources: spec.cache.resources, maxMemoryMb: spec.cache.maxMemoryMb }),
  };
}

/** Of what is asked of the pods beside the app: equal for two revisions that differ in image and secrets alone, no others. */
export function askedPodsHash({ spec, metadata }: ManagedDeployment): string {
  const { imagePullSecrets = [], ...others } = spec.podTemplate;
  // The platform's own goes with the image.
  const asked = imagePullSecrets.filter(({ name }) => name !== pullSecretName(metadata.name));
  return fullHash({ ...others, imagePullSecrets: asked });
}

/** Two resources of equal hash want the same pod templates (of the same rendering code and configuration). */
export function templateInputsHash(resource: ManagedDeployment): string {
  return contentHash(templateInputs(resource));
}
