import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import type { RenderConfig } from '../../../contract/render/render-config.ts';
import { toManagedDeployment } from '../../../contract/render/to-resource.ts';
import type { ManagedDeployment } from '../../../contract/resource/managed-deployment.ts';
import { isToBuild } from '../../../domain/builds/build-transitions.ts';
import { contentHash } from '../../../domain/core/hash.ts';
import type { Revision } from '../../../domain/deployment/deployment.ts';
import { imageRepository } from '../../../domain/net/image-reference.ts';
import { COMPONENTS } from '../../../domain/resource-spec/resource-spec.ts';
import { unsupportedByCluster } from '../../../workloads/cluster-support.ts';
import type { KubeObject } from '../../../workloads/desired-object.ts';
import { desiredObjects } from '../../../workloads/desired-objects.ts';
import { cacheDeployment } from '../../../workloads/objects/cache.ts';
import { databaseStatefulSet } from '../../../workloads/objects/database.ts';
import { renderTemplates } from '../../../workloads/objects/pod-template.ts';
import { meaningHash, sameMeaning } from '../../../workloads/same-template.ts';
import { templateInputsHash } from '../../../workloads/template-inputs.ts';
import type { DeploymentRecord, NewRevision } from '../../store/core/records.ts';
import type { ApiDeps } from '../core/deps.ts';
import { brokenRules } from '../core/errors.ts';
import type { DryRunAnswer } from './deployment-schema.ts';

/** What a deployment becomes in its cluster, told without touching it. */

/** The custom resource of a record. */
export function resourceOf(
  { registry, registryAuthority }: ApiDeps,
  deployment: DeploymentRecord,
  revision: Revision | null,
  secretNames: readonly string[],
): ManagedDeployment {
  // The tracing project has the deployment's name.
  const tracingProject = deployment.name;
  const repository = registryAuthority?.repositoryOf(deployment) ?? null;
  const build =
    registry !== null && revision !== null && isToBuild(revision)
      ? { revision, repository: imageRepository(registry, deployment) }
      : null;
  return toManagedDeployment({ deployment, revision, secretNames, tracingProject, repository, build });
}

/** A revision that was just made, as the store would read it. */
export function revisionOf(deployment: DeploymentRecord, made: NewRevision, number: number): Revision {
  return {
    id: made.id,
    deploymentId: deployment.id,
    number,
    status: made.status,
    reason: made.reason ?? null,
    message: made.message ?? null,
    sourceRevisionConfig: deployment.sourceRevisionConfig,
    resolvedImage: made.resolvedImage ?? null,
    createdAt: deployment.updatedAt,
    updatedAt: deployment.updatedAt,
    deployedAt: null,
  };
}

/**
 * The custom resource and every object that it wants; null while the cluster's rendering is not known.
 * @param served the resource with the revision that the pods are of, where the wanted one has failed
 */
export function manifestsOf(
  resource: ManagedDeployment,
  config: RenderConfig | null,
  served: ManagedDeployment = resource,
): DryRunAnswer['manifests'] {
  if (config === null) return null;
  const hasImage = served.spec.revision.image !== undefined;
  const templates = hasImage ? renderTemplates(served, config) : null;
  const objects = desiredObjects(resource, config, { templates }).map(({ object }) => object);
  return [{ ...resource }, ...objects];
}

/**
 * Fails when the listener's cluster is known to be too old for what is asked.
 * @throws ApiError 400
 */
export function checkClusterSupport(resource: ManagedDeployment, config: RenderConfig | null): void {
  const unsupported = config === null ? [] : unsupportedByCluster(resource, config);
  if (unsupported.length === 0) return;
  throw brokenRules(
    unsupported.map(({ path, message }) => ({
      loc: ['source_config', 'resource_spec', ...path],
      msg: message,
      type: 'cluster_too_old',
    })),
  );
}

/** Running database and cache pods keep their image, whatever it is: no change of a resource replaces it. */
const SAME_IMAGE = 'unchanged';
const SAME_PULLING = { hosting: 'self_hosted', databaseImage: SAME_IMAGE } as const;

/** The database's and the cache's workload; null: outside the cluster. How many pods they have is no part of them. */
function dataWorkloads(resource: ManagedDeployment): (KubeObject | null)[] {
  const { database, cache } = resource.spec;
  return [
    database.external ? null : databaseStatefulSet(resource, SAME_IMAGE, SAME_PULLING),
    cache.external ? null : cacheDeployment(resource, SAME_IMAGE),
  ];
}

/** Of two workloads whose pods are the same, however their template is written: the same hash. */
function podsHash(workload: KubeObject): string {
  const { template, ...spec } = workload.spec as { template: V1PodTemplateSpec };
  return contentHash({ ...workload, spec: { ...spec, template: meaningHash(template) } });
}

/** A workload that comes or goes replaces nothing; one whose template differs does. */
function replacesDataPods(before: ManagedDeployment, after: ManagedDeployment): boolean {
  const wanted = dataWorkloads(after);
  return dataWorkloads(before).some((workload, index) => {
    const next = wanted[index] ?? null;
    return workload !== null && next !== null && podsHash(workload) !== podsHash(next);
  });
}

/** A change of a deployment's resource. */
export interface Outlook {
  readonly before: ManagedDeployment;
  readonly after: ManagedDeployment;
  /**
   * The same with the revision that the app's pods are of: another one than the wanted, where that has failed. null: the
   * first one has failed, and its pods are only kept to be looked at.
   */
  readonly served: { readonly before: ManagedDeployment; readonly after: ManagedDeployment } | null;
}

/**
 * Whether the app's templates differ in a component that is there before and after, as the operator compares them: what
 * other fields or the configuration override makes no difference. While the configuration is not known, the inputs decide.
 */
function templatesDiffer(
  before: ManagedDeployment,
  after: ManagedDeployment,
  config: RenderConfig | null,
): boolean {
  if (templateInputsHash(before) === templateInputsHash(after)) return false;
  if (config === null) return true;
  const [old, next] = [renderTemplates(before, config), renderTemplates(after, config)];
  return COMPONENTS.some((component) => {
    const [one, other] = [old[component], next[component]];
    return one !== undefined && other !== undefined && !sameMeaning(one, other);
  });
}

/** What decides besides the resources whether pods are replaced. */
export interface RollContext {
  /** An image is built that the app's pods are of in the end. */
  readonly builds: boolean;
  /** The rendering configuration of the cluster; null: not reported yet. */
  readonly config: RenderConfig | null;
}

/**
 * Whether a change from one resource to another replaces pods, of the app, the database or the cache: their templates
 * differ, and there are some before and after. Another number of the same pods replaces none.
 */
export function rollsPods({ before, after, served }: Outlook, { builds, config }: RollContext): boolean {
  if (before.spec.suspend || after.spec.suspend) return false;
  const rollsApp =
    served !== null &&
    served.before.spec.revision.image !== undefined &&
    (builds || templatesDiffer(served.before, served.after, config));
  return rollsApp || replacesDataPods(before, after);
}
