import type { InventoryItem, ObservedReport } from '../../../contract/protocol/report-protocol.ts';
import {
  MANAGED_DEPLOYMENT,
  type ManagedDeploymentStatus,
} from '../../../contract/resource/managed-deployment.ts';
import type { Condition } from '../../../domain/conditions/conditions.ts';
import type { ReportedFailure } from '../../../domain/conditions/failure-source.ts';
import { contentHash } from '../../../domain/core/hash.ts';
import { UUID_PATTERN } from '../../../domain/core/id.ts';
import { finalizerHold } from '../../../domain/deployment/deletion-hold.ts';
import { parseQuantity } from '../../kube/client/quantity.ts';
import {
  appliedHashOf,
  hasOwnLabels,
  identityConflict,
  isEdited,
  lacksBuildSecret,
  lacksEnvironment,
  type Resource,
  specHashOf,
} from '../resource-view.ts';

/** What is told to the hub of a custom resource. Pure. */

/** Longest hash that the protocol takes; an annotation may hold anything. */
const MAX_HASH = 64;

/**
 * The hub's id of the deployment; null: a resource without a record, which is none of the hub's business. The hub writes
 * lower case: another spelling is another identity in the cluster, and the same one in the hub.
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

/** A change of the active revision that failed is no matter of the revision: that one goes on as it was before. */
function inPlaceFailure(status: ManagedDeploymentStatus): Pick<ObservedReport, 'in_place_failure'> {
  const failed = status.failedChange ?? (isInPlace(status) ? status.failedRevision : undefined);
  // Told only where there is one: an earlier hub does not know the field.
  return failed === undefined ? {} : { in_place_failure: failureOf(failed) };
}

function isInPlace({ failedRevision, activeRevision }: ManagedDeploymentStatus): boolean {
  return failedRevision?.id !== undefined && failedRevision.id === activeRevision?.id;
}

function failureOf({ reason, message, culprit }: ReportedFailure) {
  return { reason, message, ...(culprit === undefined ? {} : { culprit }) };
}

/** What is wrong with running pods. Told only where something is: an earlier hub does not know the field. */
function symptomsOf({ symptoms = [] }: ManagedDeploymentStatus): Pick<ObservedReport, 'symptoms'> {
  if (symptoms.length === 0) return {};
  return {
    symptoms: symptoms.map(({ component, since, quietSince, ...failure }) => ({
      component,
      ...failureOf(failure),
      since,
      ...(quietSince === undefined ? {} : { quiet: true }),
    })),
  };
}

/** One Gi, as parseQuantity counts: in billionths. */
const GI = 2n ** 30n * 10n ** 9n;

/** PostgreSQL's largest integer; a provider may report anything. */
const MOST_GI = 2 ** 31 - 1;

/** Size of the volume, to which the hub accepts a lower db_storage_gi. */
function volumeSize({ volume }: ManagedDeploymentStatus): Pick<ObservedReport, 'volume_gi'> {
  const size = parseQuantity(volume?.capacity ?? volume?.requested ?? '');
  if (size === undefined) return {};
  return { volume_gi: Math.min(MOST_GI, Number((size + GI - 1n) / GI)) };
}

/** By which digests revisions run. Told only where one is known: an earlier hub does not know the field. */
function resolvedImages({ image, activeRevision }: ManagedDeploymentStatus): Pick<ObservedReport, 'images'> {
  const images = [image, activeRevision].flatMap((revision) => {
    const ref = revisionRef(revision);
    if (ref === null || revision?.image === undefined || !revision.image.includes('@')) return [];
    return [{ ...ref, image: revision.image }];
  });
  const distinct = images.filter(({ id }, at) => images.findIndex((other) => other.id === id) === at);
  return distinct.length === 0 ? {} : { images: distinct };
}

/**
 * Conditions of a custom resource that is being deleted. The operator says that nothing of it is observed any more; until it
 * has said so, and where it does not run, the conditions of before are not passed on as if they still held.
 */
function leavingConditions({ metadata, status }: Resource): Condition[] {
  const conditions = status?.conditions ?? [];
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

/** The report of a resource's status; null while there is nothing to tell: no record, no status yet. */
export function observedReport(resource: Resource): ObservedReport | null {
  const { status, metadata } = resource;
  const deploymentId = deploymentIdOf(resource);
  if (deploymentId === null || status?.observedSpecGeneration === undefined) return null;
  const leaves = metadata.deletionTimestamp !== undefined;
  return {
    kind: 'observed',
    deployment_id: deploymentId,
    name: metadata.name,
    namespace: metadata.namespace,
    observed_spec_generation: status.observedSpecGeneration,
    conditions: leaves ? leavingConditions(resource) : (status.conditions ?? []),
    off: status.suspended ?? false,
    url: leaves ? null : (status.url ?? null),
    ...(status.routes === undefined ? {} : { routes: status.routes }),
    active_revision: revisionRef(status.activeRevision),
    rollout_revision: revisionRef(status.rollout),
    ...(status.build === undefined ? {} : { build: status.build }),
    ...resolvedImages(status),
    failed_revision: failedRevision(status),
    ...inPlaceFailure(status),
    ...symptomsOf(status),
    ...volumeSize(status),
  };
}

/** 0: somebody wrote what is no number of ours, which the hub's word replaces. */
function generationOf({ spec }: Resource): number {
  return Number.isSafeInteger(spec.generation) ? spec.generation : 0;
}

/** The inventory's line of a resource; null: one without a record. */
export function inventoryItem(resource: Resource): InventoryItem | null {
  const deploymentId = deploymentIdOf(resource);
  if (deploymentId === null) return null;
  const { name, namespace, uid } = resource.metadata;
  const applied = appliedHashOf(resource)?.slice(0, MAX_HASH) ?? null;
  const isServed =
    identityConflict(resource) === null && !lacksEnvironment(resource) && !lacksBuildSecret(resource);
  const isWhole = hasOwnLabels(resource) && isServed;
  // With its labels edited, its identity in use, or its environment or the credentials of its build lost, it is not what was applied, whatever its spec says.
  const hash = isWhole ? specHashOf(resource) : contentHash(resource.metadata.labels ?? {});
  return {
    deployment_id: deploymentId,
    name,
    namespace,
    uid: uid ?? '',
    generation: generationOf(resource),
    spec_hash: hash,
    // Where nobody has edited its spec, its generation is a listener's word: a restored hub has to catch up with it.
    applied_hash: isWhole || isEdited(resource) ? applied : hash,
  };
}

/** The inventory's line of a resource that is gone. */
export function goneItem(resource: Resource): InventoryItem | null {
  const item = inventoryItem(resource);
  return item === null ? null : { ...item, uid: null };
}
