import type { Deployment, Revision } from '../../domain/deployment/deployment.ts';
import { TRACING_ENV_NAMES } from '../../domain/deployment/reserved.ts';
import { isOfRepository } from '../../domain/net/image-reference.ts';
import {
  componentScale,
  effectiveSpec,
  hasComponent,
  isOff,
} from '../../domain/resource-spec/effective-spec.ts';
import type { EffectiveResourceSpec } from '../../domain/resource-spec/effective-spec-schema.ts';
import { exporterVariables } from '../../domain/resource-spec/exporter-variables.ts';
import {
  COMPONENT_FIELDS,
  COMPONENTS,
  type Component,
  milliCpu,
} from '../../domain/resource-spec/resource-spec.ts';
import {
  MANAGED_DEPLOYMENT,
  type ManagedDeployment,
  type ManagedDeploymentSpec,
} from '../resource/managed-deployment.ts';
import { envSecretName, LABELS, MANAGED_BY, pullSecretName } from '../resource/names.ts';
import { type BuildInput, toBuildSpec } from './build-to-resource.ts';

/** Everything of the hub's record that the custom resource says. No secret value is among it. */
export interface ResourceInput {
  readonly deployment: Deployment;
  /** The wanted revision; null: there is none yet, and nothing is run. */
  readonly revision: Revision | null;
  /** The revision that serves, where it is another one. */
  readonly active?: { readonly id: string; readonly number: number } | null;
  /** Names of the wanted revision's secrets. */
  readonly secretNames: readonly string[];
  /** Name of the tracing project; null: the pods are told none. */
  readonly tracingProject: string | null;
  /**
   * The deployment's repository in the registry of the platform, which the cluster pulls from with credentials of the
   * hub; absent or null: there is no such registry.
   */
  readonly repository?: string | null;
  /** What is to be built; absent or null: nothing. */
  readonly build?: BuildInput | null;
}

/** Secrets of these names bring the tenant's own data services; Berth then runs none. */
export const EXTERNAL_DATABASE_SECRET = 'DATABASE_URI_CUSTOM';
export const EXTERNAL_CACHE_SECRET = 'CACHE_URI_CUSTOM';

type Resources = NonNullable<ManagedDeploymentSpec['database']['resources']>;
type Components = ManagedDeploymentSpec['components'];

/** The cache's data may fill this part of its memory; the rest is buffers, connections, fragmentation. */
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

function component(effective: EffectiveResourceSpec, name: Component): Components['api'] {
  const fields = COMPONENT_FIELDS[name];
  return {
    scale: componentScale(effective, name),
    resources: resources(
      { request: effective[fields.cpu], limit: effective[fields.cpuLimit] },
      { request: effective[fields.memory], limit: effective[fields.memoryLimit] },
    ),
  };
}

function components(effective: EffectiveResourceSpec): Components {
  const others = COMPONENTS.filter((name) => name !== 'api' && hasComponent(effective, name));
  return {
    api: component(effective, 'api'),
    ...Object.fromEntries(others.map((name) => [name, component(effective, name)])),
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
  return {
    id: revision.id,
    number: revision.number,
    ...(image === null ? {} : { image }),
    ...(secretNames.length === 0
      ? {}
      : { envSecretName: envSecretName(deployment.appName, revision.number) }),
  };
}

/** Longest texts that the custom resource takes. */
const [MAX_REASON, MAX_MESSAGE] = [64, 4096];

/** A revision that has failed stays wanted; an operator that finds no status of it must not try it again first. */
function failedSpec({ deployment, revision, active }: ResourceInput): Pick<ManagedDeploymentSpec, 'failed'> {
  if (revision?.status !== 'DEPLOY_FAILED') return {};
  const reason = (revision.reason ?? 'RolloutFailed').slice(0, MAX_REASON);
  const message = (revision.message ?? 'it has failed before').slice(0, MAX_MESSAGE);
  const serving = active ? { activeRevision: { id: active.id, number: active.number } } : {};
  const observedGeneration = deployment.observation?.generation ?? 0;
  return { failed: { reason, message, ...serving, observedGeneration } };
}

/** No times that move: a deletion that is asked for again changes neither. */
function deletionSpec({
  deleteRequestedAt,
  purgeAfter,
}: Deployment): Pick<ManagedDeploymentSpec, 'deletion'> {
  if (deleteRequestedAt === null) return {};
  const restorableUntil = (purgeAfter ?? deleteRequestedAt).toISOString();
  return { deletion: { requestedAt: deleteRequestedAt.toISOString(), restorableUntil } };
}

function databaseSpec(
  effective: EffectiveResourceSpec,
  secretNames: readonly string[],
): ManagedDeploymentSpec['database'] {
  return {
    external: secretNames.includes(EXTERNAL_DATABASE_SECRET),
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
  secretNames: readonly string[],
): ManagedDeploymentSpec['cache'] {
  const memory = effective.cache_memory_mb;
  return {
    external: secretNames.includes(EXTERNAL_CACHE_SECRET),
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
 * Secrets to pull with: those that were asked for, and the one of the deployment's repository where the image is of it.
 * Pods of other images, as of before there was such a repository, are not replaced for one that they have no use for.
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
  return {
    ...givenMap('labels', effective.labels),
    ...givenMap('annotations', effective.annotations),
    ...(serviceAccountName === null ? {} : { serviceAccountName }),
    ...given('imagePullSecrets', pullSecrets(effective, input)),
    ...given('volumes', effective.volumes),
    ...given('volumeMounts', effective.volume_mounts),
    ...given('initContainers', effective.init_containers),
    ...given('sidecars', effective.sidecars),
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
 * The custom resource that says what the hub wants of a deployment. Pure: the same record gives the same resource,
 * member for member. A revision without an image (not built yet) runs data services only. Within the grace of a deletion
 * nothing is run and everything is kept.
 */
export function toManagedDeployment(input: ResourceInput): ManagedDeployment {
  const { deployment, revision, secretNames, tracingProject } = input;
  const {
    resource_spec: spec,
    deployment_type: type,
    custom_url: url,
    default_ceilings,
  } = deployment.sourceConfig;
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
      generation: deployment.generation,
      source: deployment.source,
      suspend: revision === null || isOff(effective) || deleting,
      ...deletionSpec(deployment),
      revision: revisionSpec(input),
      ...(build === null ? {} : { build }),
      ...failedSpec(input),
      components: components(effective),
      database: databaseSpec(effective, secretNames),
      cache: cacheSpec(effective, secretNames),
      podTemplate: podTemplateSpec(effective, input),
      // The host is free for others as soon as its route is seen to be gone (hub/store/deployments/host-reservations.ts).
      routing: url === null || deleting ? {} : { url },
      tracing: tracingSpec(tracingProject, secretNames),
    },
  };
}
