import type { KubeError } from '../../kube/client/errors.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import type { Action } from '../action.ts';
import { isOtherValue } from '../changes/refused-value.ts';
import type { Failure } from '../observe/failure.ts';
import { QUOTA } from '../rollout/failure-rules.ts';

/** The failure to report for a rejected call. `final`: a retry succeeds only after a person has changed something. */
export function refusedCall(action: Action, error: KubeError): Failure {
  const message = refusalText(action, error);
  const changed = changedField(action, error);
  if (changed !== undefined) {
    return {
      actionId: action.id,
      reason: 'FieldsChangedByCluster',
      final: false,
      message: `${message}: a mutating admission policy or webhook of the cluster changes ${changed}`,
      retryWithinMs: POLICY_RETRY_MS,
    };
  }
  const reason = reasonOf(action, error);
  return { actionId: action.id, reason, final: isFinal(reason, error), message };
}

/** Retry interval while a policy changes the object, so that it is written within a minute after the policy is removed. */
const POLICY_RETRY_MS = 30_000;

/**
 * The rejected field, if its value differs from the sent value; undefined: the API server rejects the value that was
 * sent.
 */
function changedField(action: Action, error: KubeError): string | undefined {
  if (error.kind !== 'invalid' || (action.kind !== 'create' && action.kind !== 'apply')) return undefined;
  if (error.resource === RESOURCES.Secret.plural) return undefined;
  return error.causes.find((cause) => isOtherValue(action.object, cause))?.field;
}

/** The error of Kubernetes for a storage class without allowVolumeExpansion. */
const NOT_EXPANDABLE = /must support resize/i;

/** Quotas, storage classes, admission rules and missing rights all result in 403. Only the text distinguishes them. */
function reasonOf(action: Action, error: KubeError): Failure['reason'] {
  if (error.kind !== 'forbidden') return 'Refused';
  const said = error.said();
  if (QUOTA.test(said)) return 'QuotaExceeded';
  return action.kind === 'volume' && NOT_EXPANDABLE.test(said) ? 'VolumeNotExpandable' : 'Refused';
}

/** Messages with which admission rules reject a request. The message for a missing right differs. */
const DENIED = /denied the request|denied request|violates PodSecurity/i;

function isFinal(reason: Failure['reason'], error: KubeError): boolean {
  if (error.kind !== 'forbidden' || reason === 'VolumeNotExpandable') return true;
  return DENIED.test(error.said());
}

const SHOWN_CAUSES = 3;

/**
 * Object, field and message of the rejection. An action may send several calls, so the text names the rejected call.
 * For a Secret, the message of the cluster is not quoted, because it may contain data.
 */
function refusalText(action: Action, error: KubeError): string {
  if (error.resource === RESOURCES.Secret.plural)
    return `the cluster rejects the call to ${error.action} (${error.kind})`;
  if (!('object' in action)) return error.message;
  const causes = error.causes
    .filter(({ field }) => field !== '')
    .slice(0, SHOWN_CAUSES)
    .map(({ field, message }) => `${field}: ${message}`);
  const { kind, metadata } = action.object;
  return causes.length === 0 ? error.message : `${kind} ${metadata.name}: ${causes.join('; ')}`;
}
