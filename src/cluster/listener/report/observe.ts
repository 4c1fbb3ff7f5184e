import type { InventoryItem, ObservedReport } from '../../../contract/protocol/report-protocol.ts';
import { MANAGED_DEPLOYMENT } from '../../../contract/resource/definition.ts';
import { currentStatus } from '../../../contract/resource/former-names.ts';
import type { ManagedDeploymentStatus } from '../../../contract/resource/managed-deployment.ts';
import {
  type ResourceFailureSource,
  reportedSource,
} from '../../../contract/resource/resource-failure-source.ts';
import { type Condition, PROGRESS_TYPES } from '../../../domain/conditions/conditions.ts';
import { contentHash } from '../../../domain/core/hash.ts';
import { UUID_PATTERN } from '../../../domain/core/id.ts';
import { finalizerHold } from '../../../domain/deployment/deletion-hold.ts';
import { parseQuantity } from '../../../domain/kubernetes/quantity.ts';
import {
  appliedHashOf,
  hasOwnLabels,
  identityConflict,
  isEdited,
  lacksBuildSecret,
  lacksEnvironment,
  type Resource,
  recordGenerationOf,
  specHashOf,
} from '../resource-view.ts';

/** Converts a custom resource to the reports for the hub. Pure. */

/** Maximum length of a hash in the protocol. The text of an annotation may be longer. */
const MAX_HASH = 64;

/**
 * The hub's id of the deployment; null for a resource applied by hand, which is not reported. The id is in lower case,
 * as the hub writes it. Another spelling is another identity in the cluster, but would be the same identity in the hub.
 */
export function deploymentIdOf(resource: Resource): string | null {
  const id = resource.spec?.deploymentId;
  return id !== undefined && UUID_PATTERN.test(id) && id === id.toLowerCase() ? id : null;
}

function revisionRef(revision: { id?: string | undefined; number: number } | undefined) {
  return revision?.id === undefined ? null : { id: revision.id, number: revision.number };
}

function failedRevision(status: ManagedDeploymentStatus): ObservedReport['failed_revision'] {
  const { failedRevision: failed } = status;
  const ref = revisionRef(failed);
  if (ref === null || failed === undefined || isInPlace(status)) return null;
  return { ...ref, ...failureOf(failed) };
}

/** A failed change of the active revision is not a failure of the revision, because it continues to run as before. */
function inPlaceFailure(status: ManagedDeploymentStatus): Pick<ObservedReport, 'in_place_failure'> {
  const failed = status.failedChange ?? (isInPlace(status) ? status.failedRevision : undefined);
  // The field is sent only when it has a value, because an older hub does not know it.
  return failed === undefined ? {} : { in_place_failure: failureOf(failed) };
}

function isInPlace({ failedRevision, activeRevision }: ManagedDeploymentStatus): boolean {
  return failedRevision?.id !== undefined && failedRevision.id === activeRevision?.id;
}

interface RecordedFailure {
  readonly reason: string;
  readonly message: string;
  readonly failureSource?: ResourceFailureSource | undefined;
}

/** The source has two names, because hubs of the previous version know only `culprit`. */
function failureOf({ reason, message, failureSource }: RecordedFailure) {
  if (failureSource === undefined) return { reason, message };
  const source = reportedSource(failureSource);
  return { reason, message, failure_source: source, culprit: source };
}

/** Problems of running pods. The field is sent only when it has a value, because an older hub does not know it. */
function symptomsOf({ symptoms = [] }: ManagedDeploymentStatus): Pick<ObservedReport, 'symptoms'> {
  if (symptoms.length === 0) return {};
  return {
    symptoms: symptoms.map(({ component, firstObservedTime, lastObservedTime, ...failure }) => ({
      component,
      ...failureOf(failure),
      since: firstObservedTime,
      ...(lastObservedTime === undefined ? {} : { quiet: true }),
    })),
  };
}

/** One Gi, in the unit of parseQuantity (billionths). */
const GI = 2n ** 30n * 10n ** 9n;

/** PostgreSQL's largest integer. A storage provider may report any size. */
const MAX_GI = 2 ** 31 - 1;

/** Size of the volume. This size is the minimum of db_storage_gi that the hub accepts. */
function volumeSize({ volume }: ManagedDeploymentStatus): Pick<ObservedReport, 'volume_gi'> {
  const size = parseQuantity(volume?.capacity ?? volume?.requested ?? '');
  if (size === null) return {};
  return { volume_gi: Math.min(MAX_GI, Number((size + GI - 1n) / GI)) };
}

/**
 * Image digests of the revisions. The field is sent only when a digest is known, because an older hub does not know it.
 */
function resolvedImages({ image, activeRevision }: ManagedDeploymentStatus): Pick<ObservedReport, 'images'> {
  const images = [image, activeRevision].flatMap((revision) => {
    const ref = revisionRef(revision);
    if (ref === null || revision?.image === undefined || !revision.image.includes('@')) return [];
    return [{ ...ref, image: revision.image }];
  });
  const distinct = images.filter(({ id }, at) => images.findIndex((other) => other.id === id) === at);
  return distinct.length === 0 ? {} : { images: distinct };
}

function reportedConditions({ status }: Resource): Condition[] {
  return (status?.conditions ?? []).filter(({ type }) => !PROGRESS_TYPES.has(type));
}

/**
 * Conditions of a custom resource that is being deleted. The operator sets the conditions to Unknown. Until then, and
 * if the operator does not run, the former conditions are not reported as current.
 */
function leavingConditions(resource: Resource): Condition[] {
  const { metadata } = resource;
  const conditions = reportedConditions(resource);
  if (conditions.every(({ type, status: is }) => type === 'Ready' || is === 'Unknown')) return conditions;
  const { deletionTimestamp: since = '', name } = metadata;
  const held = finalizerHold({ kind: MANAGED_DEPLOYMENT.kind, metadata });
  const { reason, message } = held ?? {
    reason: 'BeingDeleted',
    message: `ManagedDeployment ${name} is being deleted since ${since}`,
  };
  return conditions.map(({ type, observedGeneration }) => ({
    type,
    status: type === 'Ready' ? 'False' : 'Unknown',
    reason: type === 'Ready' ? reason : 'BeingDeleted',
    message,
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
    lastTransitionTime: since,
  }));
}

function routesOf({ routes }: ManagedDeploymentStatus): Pick<ObservedReport, 'routes'> {
  return routes === undefined ? {} : { routes: { generation: routes.recordGeneration, hosts: routes.hosts } };
}

/** Hosts of a resource that is being deleted are not reported as current. */
function domainsOf({ domains }: ManagedDeploymentStatus): Pick<ObservedReport, 'domains'> {
  if (domains === undefined) return {};
  const hosts = domains.hosts.map(({ challenge: _, routedBeforeProof: __, ...host }) => host);
  return { domains: { generation: domains.recordGeneration, hosts } };
}

function buildOf({ build }: ManagedDeploymentStatus): Pick<ObservedReport, 'build'> {
  if (build === undefined) return {};
  const { startTime, completionTime, ...others } = build;
  return {
    build: {
      ...others,
      ...(startTime === undefined ? {} : { startedAt: startTime }),
      ...(completionTime === undefined ? {} : { finishedAt: completionTime }),
    },
  };
}

/** The report of a resource's status; null when there is nothing to report: no record in the hub, or no status yet. */
export function observedReport(resource: Resource): ObservedReport | null {
  const { metadata } = resource;
  const status = resource.status && currentStatus(resource.status);
  const deploymentId = deploymentIdOf(resource);
  if (deploymentId === null || status?.observedRecordGeneration === undefined) return null;
  const leaves = metadata.deletionTimestamp !== undefined;
  return {
    kind: 'observed',
    deployment_id: deploymentId,
    name: metadata.name,
    namespace: metadata.namespace,
    observed_spec_generation: status.observedRecordGeneration,
    conditions: leaves ? leavingConditions(resource) : reportedConditions(resource),
    off: status.suspended ?? false,
    url: leaves ? null : (status.url ?? null),
    ...routesOf(status),
    ...(leaves ? {} : domainsOf(status)),
    active_revision: revisionRef(status.activeRevision),
    rollout_revision: revisionRef(status.rollout),
    ...buildOf(status),
    ...resolvedImages(status),
    failed_revision: failedRevision(status),
    ...inPlaceFailure(status),
    ...symptomsOf(status),
    ...volumeSize(status),
  };
}

/** The generation; 0 if it is not a valid number. The next item of the hub replaces an invalid generation. */
function generationOf(resource: Resource): number {
  const generation = recordGenerationOf(resource);
  return Number.isSafeInteger(generation) ? (generation as number) : 0;
}

/** The inventory item of a resource; null for a resource applied by hand. */
export function inventoryItem(resource: Resource): InventoryItem | null {
  const deploymentId = deploymentIdOf(resource);
  if (deploymentId === null) return null;
  const { name, namespace, uid } = resource.metadata;
  const applied = appliedHashOf(resource)?.slice(0, MAX_HASH) ?? null;
  const isServed =
    identityConflict(resource) === null && !lacksEnvironment(resource) && !lacksBuildSecret(resource);
  const isWhole = hasOwnLabels(resource) && isServed;
  // The resource differs from what was applied, even with an unchanged spec, if it has edited labels, an identity
  // conflict, or a lost environment or build Secret.
  const hash = isWhole ? specHashOf(resource) : contentHash(resource.metadata.labels ?? {});
  return {
    deployment_id: deploymentId,
    name,
    namespace,
    uid: uid ?? '',
    generation: generationOf(resource),
    spec_hash: hash,
    // If the spec was not edited, a listener wrote its generation, and a restored hub must catch up with it.
    applied_hash: isWhole || isEdited(resource) ? applied : hash,
  };
}

/** The inventory item of a resource that is gone. */
export function goneItem(resource: Resource): InventoryItem | null {
  const item = inventoryItem(resource);
  return item === null ? null : { ...item, uid: null };
}
