import type { InventoryItem, ObservedReport } from '../contract/listener-protocol.ts';
import type { ManagedDeploymentStatus } from '../contract/managed-deployment.ts';
import { contentHash } from '../domain/hash.ts';
import { UUID_PATTERN } from '../domain/id.ts';
import { appliedHashOf, hasOwnLabels, lacksEnvironment, type Resource, specHashOf } from './resource-view.ts';

/** What is told to the hub of a custom resource. Pure. */

/** Longest hash that the protocol takes; an annotation may hold anything. */
const MAX_HASH = 64;

/** The hub's id of the deployment; null: a resource without a record, which is none of the hub's business. */
export function deploymentIdOf(resource: Resource): string | null {
  const id = resource.spec?.deploymentId;
  return id !== undefined && UUID_PATTERN.test(id) ? id : null;
}

function revisionRef(revision: { id?: string | undefined; number: number } | undefined) {
  return revision?.id === undefined ? null : { id: revision.id, number: revision.number };
}

/** The revision that failed. A change in place that failed is no revision's matter: the conditions tell of it. */
function failedRevision(status: ManagedDeploymentStatus): ObservedReport['failed_revision'] {
  const { failedRevision: failed, activeRevision } = status;
  const ref = revisionRef(failed);
  if (ref === null || failed === undefined || ref.id === activeRevision?.id) return null;
  const { reason, message, culprit } = failed;
  return { ...ref, reason, message, ...(culprit === undefined ? {} : { culprit }) };
}

/** The report of a resource's status; null while there is nothing to tell: no record, no status yet, being deleted. */
export function observedReport(resource: Resource): ObservedReport | null {
  const { status, metadata } = resource;
  const deploymentId = deploymentIdOf(resource);
  if (deploymentId === null || status?.observedSpecGeneration === undefined) return null;
  if (metadata.deletionTimestamp !== undefined) return null;
  return {
    kind: 'observed',
    deployment_id: deploymentId,
    name: metadata.name,
    namespace: metadata.namespace,
    observed_spec_generation: status.observedSpecGeneration,
    conditions: status.conditions ?? [],
    off: status.suspended ?? false,
    url: status.url ?? null,
    active_revision: revisionRef(status.activeRevision),
    rollout_revision: revisionRef(status.rollout),
    failed_revision: failedRevision(status),
  };
}

/** The inventory's line of a resource; null: one without a record. */
export function inventoryItem(resource: Resource): InventoryItem | null {
  const deploymentId = deploymentIdOf(resource);
  if (deploymentId === null) return null;
  const { name, namespace, uid } = resource.metadata;
  return {
    deployment_id: deploymentId,
    name,
    namespace,
    uid: uid ?? '',
    generation: resource.spec.generation,
    // With its labels edited, or its environment lost, it is not what was applied, whatever its spec says.
    spec_hash:
      hasOwnLabels(resource) && !lacksEnvironment(resource)
        ? specHashOf(resource)
        : contentHash(resource.metadata.labels ?? {}),
    applied_hash: appliedHashOf(resource)?.slice(0, MAX_HASH) ?? null,
  };
}

/** The inventory's line of a resource that is gone. */
export function goneItem(resource: Resource): InventoryItem | null {
  const item = inventoryItem(resource);
  return item === null ? null : { ...item, uid: null };
}
