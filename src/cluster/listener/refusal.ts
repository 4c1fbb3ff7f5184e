import { olderDefinition, upgradeDefinition } from '../../contract/crd/served-definition.ts';
import type { WorkItem } from '../../contract/protocol/work-protocol.ts';
import { MANAGED_DEPLOYMENT } from '../../contract/resource/definition.ts';
import type { Reason } from '../../domain/conditions/conditions.ts';
import { isKubeError, type KubeError, unknownFields } from '../kube/client/errors.ts';
import type { ResourceView } from './resource-view.ts';

/** A work item cannot be processed, for a reason that the owner of the deployment must know. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly reason: Reason;
  /** false: only a change of the deployment can help. */
  readonly retryable: boolean;
  constructor(reason: Reason, message: string, retryable: boolean) {
    super(message);
    this.reason = reason;
    this.retryable = retryable;
  }
}

/** The term is over. The listener may write no more objects and sends no reports. */
export class TermOver extends Error {
  override readonly name = 'TermOver';
  constructor() {
    super('the lease is no longer held');
  }
}

const MAX_MESSAGE = 4000;

/** The CRD of the cluster does not know a field, because the hub is newer than the cluster. The deployment is valid. */
function olderCluster(error: KubeError): Refusal | null {
  const fields = error.resource === MANAGED_DEPLOYMENT.plural ? unknownFields(error) : [];
  if (fields.length === 0) return null;
  return new Refusal(
    'ApplyRefused',
    `${olderDefinition('the hub', fields)}; ${upgradeDefinition('the hub')}`,
    true,
  );
}

/**
 * Converts an error of the cluster to a refusal; null for a transient error (no response, overload, a conflict),
 * which is retried silently.
 */
export function refusalOf(error: unknown): Refusal | null {
  if (error instanceof Refusal) return error;
  if (!isKubeError(error)) return null;
  const older = olderCluster(error);
  if (older !== null) return older;
  const message = error.message.slice(0, MAX_MESSAGE);
  switch (error.kind) {
    case 'invalid':
    case 'bad_request':
      return new Refusal('Refused', message, false);
    // Rejections of both kinds are retried, because others can change rights, quotas and admission rules, or create a
    // missing namespace.
    case 'forbidden':
    case 'not_found':
      return new Refusal('ApplyRefused', message, true);
    default:
      return null;
  }
}

/**
 * Checks that the listener works in this namespace.
 * @throws Refusal NamespaceNotAllowed; ApplyRefused when the listener cannot read the namespace
 */
export function checkNamespace(view: Pick<ResourceView, 'covers' | 'trouble'>, namespace: string): void {
  if (!view.covers(namespace)) {
    throw new Refusal('NamespaceNotAllowed', `the listener may not work in the namespace ${namespace}`, true);
  }
  const trouble = view.trouble(namespace);
  if (trouble === undefined) return;
  throw new Refusal('ApplyRefused', `the listener cannot read the namespace ${namespace}: ${trouble}`, true);
}

/** The report of a refusal. */
export function refusedReport(item: WorkItem, refusal: Refusal) {
  return {
    kind: 'refused' as const,
    deployment_id: item.deployment_id,
    generation: item.generation,
    reason: refusal.reason,
    message: refusal.message.slice(0, MAX_MESSAGE),
    retryable: refusal.retryable,
  };
}
