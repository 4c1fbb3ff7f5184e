import type { ManagedDeployment } from '../contract/resource/managed-deployment.ts';
import { pullSecretName } from '../contract/resource/names.ts';
import { contentHash, fullHash } from '../domain/core/hash.ts';
import { normalPodTemplate, normalResources } from '../domain/kubernetes/normal-form.ts';
import { COMPONENTS } from '../domain/resource-spec/resource-spec.ts';
import { deploymentId } from './labels.ts';

/** How the parts that may be spelled in several ways are put into the inputs. */
interface Spelling {
  readonly podTemplate: (value: ManagedDeployment['spec']['podTemplate']) => unknown;
  readonly resources: (value: unknown) => unknown;
}

/** Two ways to write the same pods give the same inputs. */
const NORMAL: Spelling = { podTemplate: normalPodTemplate, resources: normalResources };
/** Earlier versions stored the hash of what was written. */
const AS_WRITTEN: Spelling = { podTemplate: (value) => value, resources: (value) => value };

/**
 * Exactly the parts of the resource that feed its pod templates. The operator's configuration and version are not
 * among them: an upgrade renders new revisions its new way and restarts nothing. Neither are scales: how many pods
 * run is not what they are; nor is the source, which never changes.
 */
export function templateInputs(resource: ManagedDeployment, spelling: Spelling = NORMAL): unknown {
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
        spelling.resources(components[component]?.resources) ?? null,
      ]),
    ),
    database: { external: database.external, poolSize: database.poolSize },
    cache: { external: cache.external },
    podTemplate: spelling.podTemplate(spec.podTemplate),
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
  spelling: Spelling = NORMAL,
): unknown {
  const { spec, metadata } = resource;
  const { maxConnections } = spec.database;
  const resources = spelling.resources(spec[service].resources);
  return {
    name: metadata.name,
    deploymentId: deploymentId(resource),
    tenantId: spec.tenantId,
    image,
    ...(service === 'database'
      ? { resources, maxConnections }
      : { resources, maxMemoryMb: spec.cache.maxMemoryMb }),
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

/** Whether a recorded hash is that of what the resource wants; earlier versions recorded the hash of what was written. */
export function isTemplateInputsHash(resource: ManagedDeployment, recorded: string): boolean {
  return (
    recorded === templateInputsHash(resource) ||
    recorded === contentHash(templateInputs(resource, AS_WRITTEN))
  );
}

/** The same of a data service. */
export function isDataServiceInputsHash(
  resource: ManagedDeployment,
  service: 'database' | 'cache',
  image: string | undefined,
  recorded: string,
): boolean {
  return [NORMAL, AS_WRITTEN].some(
    (spelling) => recorded === contentHash(dataServiceInputs(resource, service, image, spelling)),
  );
}
