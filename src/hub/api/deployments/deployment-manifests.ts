import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import type { RenderConfig } from '../../../contract/render/render-config.ts';
import { toManagedDeployment } from '../../../contract/render/to-resource.ts';
import type { ManagedDeployment } from '../../../contract/resource/managed-deployment.ts';
import { isToBuild } from '../../../domain/builds/build-transitions.ts';
import { contentHash } from '../../../domain/core/hash.ts';
import type { Revision } from '../../../domain/deployment/deployment.ts';
import { imageRepository } from '../../../domain/net/image-reference.ts';
import { COMPONENTS, type Component } from '../../../domain/resource-spec/components.ts';
import { unsupportedByCluster } from '../../../workloads/cluster-support.ts';
import { DATA_SERVICE_NAMES, type DataServiceName, runsService } from '../../../workloads/data-services.ts';
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
import type { DryRunAnswer, RolledPart } from './deployment-schema.ts';

/** Renders the objects of a deployment without calling its cluster. */

/** The custom resource of a record. */
export function customResourceOf(
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

/** A new revision in the form that the store would return. */
export function renderedRevision(deployment: DeploymentRecord, made: NewRevision, number: number): Revision {
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
 * The custom resource and all objects that it needs; null: the rendering configuration of the cluster is not known.
 * @param served the resource with the revision that the pods run, when the desired revision has failed
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

/** Fails when the listener's cluster is known to be too old for the request. @throws ApiError 400 */
export function checkClusterSupport(resource: ManagedDeployment, config: RenderConfig | null): void {
  const unsupported = config === null ? [] : unsupportedByCluster(resource, config);
  if (unsupported.length === 0) return;
  throw brokenRules(
    unsupported.map(({ path, message }) => ({
      loc: ['source_config', ...path],
      msg: message,
      type: 'cluster_too_old',
    })),
  );
}

/** Running database and cache pods keep their image, which no change of a resource replaces. */
const SAME_IMAGE = 'unchanged';
const SAME_PULLING = { hosting: 'self_hosted', databaseImage: SAME_IMAGE } as const;

/** The workloads of database and cache; null: Berth does not run the service. The number of pods is not included. */
function dataWorkloads(resource: ManagedDeployment): Record<DataServiceName, KubeObject | null> {
  const { spec } = resource;
  return {
    database: runsService(spec, 'database') ? databaseStatefulSet(resource, SAME_IMAGE, SAME_PULLING) : null,
    cache: runsService(spec, 'cache') ? cacheDeployment(resource, SAME_IMAGE, {}) : null,
  };
}

/** Hash of the pods of a workload. Equal pods have the same hash, independent of the spelling of their templates. */
function podsHash(workload: KubeObject): string {
  const { template, ...spec } = workload.spec as { template: V1PodTemplateSpec };
  return contentHash({ ...workload, spec: { ...spec, template: meaningHash(template) } });
}

/** The data services whose pods a changed template replaces. A created or removed workload replaces no pods. */
function rolledServices(before: ManagedDeployment, after: ManagedDeployment): DataServiceName[] {
  const [present, wanted] = [dataWorkloads(before), dataWorkloads(after)];
  return DATA_SERVICE_NAMES.filter((service) => {
    const [workload, next] = [present[service], wanted[service]];
    return workload !== null && next !== null && podsHash(workload) !== podsHash(next);
  });
}

/** A change of a deployment's resource. */
export interface ManifestChange {
  readonly before: ManagedDeployment;
  readonly after: ManagedDeployment;
  /**
   * The resource with the revision that the app's pods run, if it differs from the desired revision because the desired
   * revision failed. null: the first revision failed, and its pods are kept only for diagnosis.
   */
  readonly served: { readonly before: ManagedDeployment; readonly after: ManagedDeployment } | null;
}

const hasComponent = ({ spec }: ManagedDeployment, component: Component) =>
  spec.components[component] !== undefined;

/**
 * The components that exist before and after the change, and whose templates differ, by the comparison of the operator.
 * Fields that the configuration overrides make no difference. While the configuration is not known, the inputs are
 * compared, so all components differ or none.
 */
function rolledComponents(
  before: ManagedDeployment,
  after: ManagedDeployment,
  config: RenderConfig | null,
): Component[] {
  if (templateInputsHash(before) === templateInputsHash(after)) return [];
  const both = COMPONENTS.filter((each) => hasComponent(before, each) && hasComponent(after, each));
  if (config === null) return both;
  const [old, next] = [renderTemplates(before, config), renderTemplates(after, config)];
  return both.filter((component) => {
    const [one, other] = [old[component], next[component]];
    return one !== undefined && other !== undefined && !sameMeaning(one, other);
  });
}

/** Inputs besides the resources that decide whether pods are replaced. */
export interface RollContext {
  /** Whether the change builds an image that the app's pods will run. */
  readonly builds: boolean;
  /** The rendering configuration of the cluster; null: the listener has not reported it yet. */
  readonly config: RenderConfig | null;
}

/**
 * The components and data services whose pods a change from one resource to another replaces. A change replaces pods if the
 * pod templates differ and pods exist before and after the change. A change of the number of pods replaces no pods.
 */
export function rolledParts(
  { before, after, served }: ManifestChange,
  { builds, config }: RollContext,
): RolledPart[] {
  if (before.spec.suspend || after.spec.suspend) return [];
  return [...rolledApp(served, { builds, config }), ...rolledServices(before, after)];
}

function rolledApp(served: ManifestChange['served'], { builds, config }: RollContext): Component[] {
  if (served === null || served.before.spec.revision.image === undefined) return [];
  // The Procfile of the build may remove a component.
  if (builds) return COMPONENTS.filter((each) => hasComponent(served.before, each));
  return rolledComponents(served.before, served.after, config);
}
