import type { ManagedDeployment } from '../contract/resource/managed-deployment.ts';
import { pullSecretName } from '../contract/resource/names.ts';
import { contentHash, fullHash } from '../domain/core/hash.ts';
import { normalPodTemplate, normalResources } from '../domain/kubernetes/normal-form.ts';
import { COMPONENTS } from '../domain/resource-spec/components.ts';
import { withoutRunSettings } from '../domain/run-settings/run-settings.ts';
import { settingsOfComponents } from './component-settings.ts';
import { lacksService } from './data-services.ts';
import { deploymentId } from './labels.ts';

/** Normalization of the parts that can be spelled in several ways. */
interface Spelling {
  readonly podTemplate: (value: ManagedDeployment['spec']['podTemplate']) => unknown;
  readonly resources: (value: unknown) => unknown;
}

/** Normalization with which different spellings of the same pods have equal inputs. */
const NORMAL: Spelling = { podTemplate: normalPodTemplate, resources: normalResources };
/** No normalization: earlier versions stored the hash of the written text. */
const AS_WRITTEN: Spelling = { podTemplate: (value) => value, resources: (value) => value };

/**
 * Exactly the parts of the resource that determine its pod templates. The configuration and version of the operator are
 * not included, so that an upgrade changes only new revisions and restarts nothing. Scales are not included, because
 * they do not change pods. The source is not included, because it never changes.
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
    ...settingsOfComponents(resource),
    database: {
      external: database.external,
      // Pods without a database have no pool.
      ...(lacksService(spec, 'database') ? { enabled: false } : { poolSize: database.poolSize }),
    },
    cache: { external: cache.external, ...(lacksService(spec, 'cache') ? { enabled: false } : {}) },
    podTemplate: spelling.podTemplate(spec.podTemplate),
    tracing: tracingInputs(resource),
  };
}

/**
 * Tracing inputs. For a revision of the hub, the names of exporter variables are omitted. These names are derived from
 * the secrets of the revision, which never change, so that a hub that sends them for the first time restarts nothing.
 */
function tracingInputs({ spec }: ManagedDeployment): unknown {
  const { exporterVariables, ...tracing } = spec.tracing;
  return spec.revision.id !== undefined || exporterVariables === undefined ? tracing : spec.tracing;
}

/**
 * Exactly the parts of the resource that determine the pods of a data service, without configuration and version of the
 * operator.
 * @param image the recorded image of the service
 */
function dataServiceInputs(
  resource: ManagedDeployment,
  service: 'database' | 'cache',
  image: string | undefined,
  spelling: Spelling,
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

/**
 * Hash of the pod settings. The hash is equal for two revisions exactly if they differ only in image, secrets and run
 * settings. The policy allows any run settings.
 */
export function requestedPodsHash(resource: ManagedDeployment): string {
  const { spec, metadata } = resource;
  const { imagePullSecrets = [], ...others } = withoutRunSettings(spec.podTemplate);
  // The pull Secret of the platform is omitted, because it depends on the image.
  const requested = imagePullSecrets.filter(({ name }) => name !== pullSecretName(metadata.name));
  return fullHash({ ...others, ...settingsOfComponents(resource), imagePullSecrets: requested });
}

/** Hash of the inputs. Resources with equal hashes have equal pod templates (with the same version and configuration). */
export function templateInputsHash(resource: ManagedDeployment): string {
  return contentHash(templateInputs(resource));
}

/**
 * Hash of the inputs as they are written. An operator of the previous version computes only this one, so it is recorded
 * too: after a return to that version, it finds the templates and renders nothing again.
 */
export function writtenInputsHash(resource: ManagedDeployment): string {
  return contentHash(templateInputs(resource, AS_WRITTEN));
}

/** Hashes of the inputs of a data service, in normal form and as written, as for the templates of revisions. */
export function dataServiceInputsHashes(
  resource: ManagedDeployment,
  service: 'database' | 'cache',
  image: string | undefined,
): { normal: string; written: string } {
  const hash = (spelling: Spelling) => contentHash(dataServiceInputs(resource, service, image, spelling));
  return { normal: hash(NORMAL), written: hash(AS_WRITTEN) };
}

/**
 * Whether one of the recorded hashes matches the inputs of the resource. Earlier versions recorded the hash of the written
 * text.
 */
export function isTemplateInputsHash(
  resource: ManagedDeployment,
  ...recorded: readonly (string | undefined)[]
): boolean {
  return recorded.includes(templateInputsHash(resource)) || recorded.includes(writtenInputsHash(resource));
}

/** Whether one of the recorded hashes matches the inputs of a data service. */
export function isDataServiceInputsHash(
  resource: ManagedDeployment,
  service: 'database' | 'cache',
  image: string | undefined,
  ...recorded: readonly (string | undefined)[]
): boolean {
  return [NORMAL, AS_WRITTEN].some((spelling) =>
    recorded.includes(contentHash(dataServiceInputs(resource, service, image, spelling))),
  );
}
