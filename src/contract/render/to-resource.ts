import type { Deployment, Revision } from '../../domain/deployment/deployment.ts';
import { TRACING_ENV_NAMES } from '../../domain/deployment/reserved.ts';
import { isOfRepository } from '../../domain/net/image-reference.ts';
import { disabledServices } from '../../domain/pod-settings/data-services.ts';
import type { PodSettings } from '../../domain/pod-settings/pod-settings.ts';
import { COMPONENT_FIELDS, COMPONENTS, type Component } from '../../domain/resource-spec/components.ts';
import {
  effectiveSpec,
  hasComponent,
  isOff,
  scaleOfComponent,
} from '../../domain/resource-spec/effective-spec.ts';
import type { EffectiveResourceSpec } from '../../domain/resource-spec/effective-spec-schema.ts';
import { exporterVariables } from '../../domain/resource-spec/exporter-variables.ts';
import { milliCpu } from '../../domain/resource-spec/resource-spec.ts';
import { commandComponents, withCommandComponents } from '../../domain/run-settings/command-components.ts';
import { externalServices } from '../../domain/run-settings/external-services.ts';
import { resolvedSettings } from '../../domain/run-settings/procfile.ts';
import { runSettingsOf } from '../../domain/run-settings/run-settings.ts';
import { MANAGED_DEPLOYMENT } from '../resource/definition.ts';
import type { ManagedDeployment, ManagedDeploymentSpec } from '../resource/managed-deployment.ts';
import { envSecretName, LABELS, MANAGED_BY, pullSecretName } from '../resource/names.ts';
import { type BuildInput, toBuildSpec } from './build-to-resource.ts';
import { componentSettings } from './pod-settings.ts';
import { schedulesSpec } from './schedules.ts';

/** The parts of the hub's record that the custom resource contains, without secret values. */
export interface ResourceInput {
  readonly deployment: Deployment;
  /** The desired revision. null: no revision exists yet, so nothing runs. */
  readonly revision: Revision | null;
  /** The active revision, if it differs from the desired revision. */
  readonly active?: { readonly id: string; readonly number: number } | null;
  /** Names of the secrets of the desired revision. */
  readonly secretNames: readonly string[];
  /** Name of the tracing project. null: none. */
  readonly tracingProject: string | null;
  /**
   * Repository of the deployment in the registry of the platform. The cluster pulls from this repository with
   * credentials from the hub. Absent or null: the platform has no registry.
   */
  readonly repository?: string | null;
  /** The requested build. Absent or null: no build is requested. */
  readonly build?: BuildInput | null;
}

type Resources = NonNullable<ManagedDeploymentSpec['database']['resources']>;
type Components = ManagedDeploymentSpec['components'];

/** Fraction of the memory of the cache that data can fill. The rest is for buffers, connections and fragmentation. */
const CACHE_DATA_SHARE = 0.75;

/** Cores as a quantity of exact millicores: 0.25 → `250m`, 2 → `2`. */
export function cpuQuantity(cores: number): string {
  const milli = milliCpu(cores);
  return milli % 1000 === 0 ? String(milli / 1000) : `${milli}m`;
}

/** Mebibytes as a quantity. */
export function memoryQuantity(mebibytes: number): string {
  return `${mebibytes}Mi`;
}

/** Gibibytes as a quantity. */
export function storageQuantity(gibibytes: number): string {
  return `${gibibytes}Gi`;
}

interface Size {
  request: number | null;
  limit: number | null;
}

function resources(cpu: Size, memory: Size): Resources {
  const list = (cores: number | null, mebibytes: number | null) => ({
    ...(cores === null ? {} : { cpu: cpuQuantity(cores) }),
    ...(mebibytes === null ? {} : { memory: memoryQuantity(mebibytes) }),
  });
  return { requests: list(cpu.request, memory.request), limits: list(cpu.limit, memory.limit) };
}

function component(
  effective: EffectiveResourceSpec,
  name: Component,
  settings: PodSettings,
): Components['api'] {
  const fields = COMPONENT_FIELDS[name];
  return {
    scale: scaleOfComponent(effective, name),
    resources: resources(
      { request: effective[fields.cpu], limit: effective[fields.cpuLimit] },
      { request: effective[fields.memory], limit: effective[fields.memoryLimit] },
    ),
    ...componentSettings(settings, name),
  };
}

/** @param created components that exist only because of a command */
function components(
  effective: EffectiveResourceSpec,
  settings: PodSettings,
  created: readonly Component[],
): Components {
  const others = COMPONENTS.filter((name) => name !== 'api' && hasComponent(effective, name));
  const of = (name: Component) => ({
    ...component(effective, name, settings),
    ...(created.includes(name) ? { byCommand: true } : {}),
  });
  return {
    api: component(effective, 'api', settings),
    ...Object.fromEntries(others.map((name) => [name, of(name)])),
  };
}

function imageOf(revision: Revision): string | null {
  return revision.resolvedImage ?? revision.sourceRevisionConfig.image_uri;
}

function revisionSpec({
  deployment,
  revision,
  secretNames,
}: ResourceInput): ManagedDeploymentSpec['revision'] {
  if (revision === null) return { number: 1 };
  const image = imageOf(revision);
  const { upload } = revision.sourceRevisionConfig;
  return {
    id: revision.id,
    number: revision.number,
    ...(image === null ? {} : { image }),
    ...(upload === undefined ? {} : { uploadDigest: upload.digest }),
    ...(secretNames.length === 0
      ? {}
      : { envSecretName: envSecretName(deployment.appName, revision.number) }),
  };
}

/** Maximum lengths of texts in the custom resource. */
const [MAX_REASON, MAX_MESSAGE] = [64, 4096];

/**
 * A failed revision remains the desired revision. With this field, an operator without the status of the revision does
 * not retry the revision.
 */
function failedSpec({ deployment, revision, active }: ResourceInput): Pick<ManagedDeploymentSpec, 'failed'> {
  if (revision?.status !== 'DEPLOY_FAILED') return {};
  const reason = (revision.reason ?? 'RolloutFailed').slice(0, MAX_REASON);
  const message = (revision.message ?? 'the revision has failed before').slice(0, MAX_MESSAGE);
  const serving = active ? { activeRevision: { id: active.id, number: active.number } } : {};
  const observedRecordGeneration = deployment.observation?.generation ?? 0;
  return { failed: { reason, message, ...serving, observedRecordGeneration } };
}

/** A repeated deletion request changes neither the time of the first request nor the end of the grace period. */
function deletionSpec({
  deleteRequestedAt,
  purgeAfter,
}: Deployment): Pick<ManagedDeploymentSpec, 'deletion'> {
  if (deleteRequestedAt === null) return {};
  const restorableUntilTime = (purgeAfter ?? deleteRequestedAt).toISOString();
  return { deletion: { requestTime: deleteRequestedAt.toISOString(), restorableUntilTime } };
}

function databaseSpec(
  effective: EffectiveResourceSpec,
  external: boolean,
  settings: PodSettings,
): ManagedDeploymentSpec['database'] {
  const isDisabled = disabledServices(settings).database;
  return {
    external,
    ...(isDisabled ? { enabled: false } : {}),
    ...(isDisabled && settings.database?.remove_volume === true ? { removeVolume: true } : {}),
    resources: resources(
      { request: effective.db_cpu, limit: effective.db_cpu_limit },
      { request: effective.db_memory_mb, limit: effective.db_memory_limit_mb },
    ),
    storage: storageQuantity(effective.db_storage_gi),
    maxConnections: effective.db_max_connections,
    poolSize: effective.db_pool_size,
    volumePolicy: 'Retain',
  };
}

function cacheSpec(
  effective: EffectiveResourceSpec,
  external: boolean,
  settings: PodSettings,
): ManagedDeploymentSpec['cache'] {
  const memory = effective.cache_memory_mb;
  return {
    external,
    ...(disabledServices(settings).cache ? { enabled: false } : {}),
    resources: resources(
      { request: effective.cache_cpu, limit: effective.cache_cpu_limit },
      { request: memory, limit: memory },
    ),
    maxMemoryMb: Math.max(1, Math.floor(memory * CACHE_DATA_SHARE)),
  };
}

function given<Name extends string, Item>(name: Name, list: Item[]): { [N in Name]?: Item[] } {
  return (list.length === 0 ? {} : { [name]: list }) as { [N in Name]?: Item[] };
}

function givenMap<Name extends string>(name: Name, map: Record<string, string>) {
  return (Object.keys(map).length === 0 ? {} : { [name]: map }) as { [N in Name]?: Record<string, string> };
}

/**
 * Pull Secrets: the requested Secrets, and that of the deployment's repository if the image is in this repository. Pods
 * with other images do not get the Secret of the repository, because they do not need it and would be replaced.
 */
function pullSecrets(effective: EffectiveResourceSpec, input: ResourceInput): { name: string }[] {
  const { deployment, revision, repository = null } = input;
  const image = revision === null ? null : imageOf(revision);
  const own = pullSecretName(deployment.appName);
  const asked = effective.image_pull_secrets.filter(({ name }) => name !== own);
  const isOwn = repository !== null && image !== null && isOfRepository(image, repository);
  return isOwn ? [...asked, { name: own }] : effective.image_pull_secrets;
}

function podTemplateSpec(
  effective: EffectiveResourceSpec,
  input: ResourceInput,
): ManagedDeploymentSpec['podTemplate'] {
  const { service_account_name: serviceAccountName } = effective;
  const { security_profile: securityProfile } = input.deployment.sourceConfig;
  return {
    ...givenMap('labels', effective.labels),
    ...givenMap('annotations', effective.annotations),
    ...(serviceAccountName === null ? {} : { serviceAccountName }),
    ...given('imagePullSecrets', pullSecrets(effective, input)),
    ...given('volumes', effective.volumes),
    ...given('volumeMounts', effective.volume_mounts),
    ...given('initContainers', effective.init_containers),
    ...given('sidecars', effective.sidecars),
    ...(securityProfile == null ? {} : { securityProfile }),
    ...resolvedSettings(input.revision?.sourceRevisionConfig ?? {}),
  };
}

function tracingSpec(
  project: string | null,
  secretNames: readonly string[],
): ManagedDeploymentSpec['tracing'] {
  return {
    ...(project === null ? {} : { project }),
    ...given(
      'ownVariables',
      TRACING_ENV_NAMES.filter((name) => secretNames.includes(name)),
    ),
    ...given('exporterVariables', exporterVariables(secretNames)),
  };
}

/**
 * The route. During a deletion, there is no route: other deployments can use the hosts when their routes are observed to be deleted
 * (hub/store/deployments/host-reservations.ts).
 */
function routingSpec({
  sourceConfig,
  deleteRequestedAt,
  domainToken,
}: Deployment): ManagedDeploymentSpec['routing'] {
  const { custom_url: url, domains = [] } = sourceConfig;
  if (deleteRequestedAt !== null) return {};
  return {
    ...(url === null ? {} : { url }),
    ...(domains.length === 0 ? {} : { domains: [...domains] }),
    ...(domains.length === 0 || domainToken == null ? {} : { domainToken }),
  };
}

/**
 * The custom resource with the desired state of a deployment. Pure: the same record gives an equal resource. A revision
 * without an image (not built yet) runs data services only. During the grace period of a deletion, nothing runs and all
 * data is kept.
 */
export function toManagedDeployment(input: ResourceInput): ManagedDeployment {
  const { deployment, revision, secretNames, tracingProject } = input;
  const settings = runSettingsOf(revision?.sourceRevisionConfig ?? {});
  const created = commandComponents(deployment.sourceConfig.resource_spec ?? {}, settings);
  const {
    resource_spec: spec,
    deployment_type: type,
    default_ceilings,
  } = withCommandComponents(deployment.sourceConfig, settings);
  const external = externalServices(secretNames, settings);
  const effective = effectiveSpec(spec ?? {}, type, default_ceilings);
  const deleting = deployment.deleteRequestedAt !== null;
  const build = toBuildSpec(deployment, input.build);
  return {
    apiVersion: MANAGED_DEPLOYMENT.apiVersion,
    kind: MANAGED_DEPLOYMENT.kind,
    metadata: {
      name: deployment.appName,
      namespace: deployment.namespace,
      labels: {
        [LABELS.name]: deployment.appName,
        [LABELS.instance]: deployment.appName,
        [LABELS.managedBy]: MANAGED_BY,
        [LABELS.deploymentId]: deployment.id,
        [LABELS.tenantId]: deployment.tenantId,
      },
    },
    spec: {
      deploymentId: deployment.id,
      tenantId: deployment.tenantId,
      displayName: deployment.name,
      recordGeneration: deployment.generation,
      source: deployment.source,
      suspend: revision === null || isOff(effective) || deleting,
      ...deletionSpec(deployment),
      revision: revisionSpec(input),
      ...(build === null ? {} : { build }),
      ...failedSpec(input),
      components: components(effective, deployment.sourceConfig, created),
      database: databaseSpec(effective, external.database, deployment.sourceConfig),
      cache: cacheSpec(effective, external.cache, deployment.sourceConfig),
      podTemplate: podTemplateSpec(effective, input),
      routing: routingSpec(deployment),
      tracing: tracingSpec(tracingProject, secretNames),
      ...schedulesSpec(deployment.sourceConfig.schedules),
    },
  };
}
