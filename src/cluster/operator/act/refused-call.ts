import type { KubeError } from '../../kube/client/errors.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import type { Action } from '../action.ts';
import { isOtherValue } from '../changes/refused-value.ts';
import type { Failure } from '../observe/failure.ts';
import { QUOTA } from '../rollout/failure-rules.ts';

/** That the cluster refuses a call which the action needs: what is reported, and whether only another object can help. */
export function refusal(action: Action, error: KubeError): Failure {
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
  return { actionId: action.id, reason: reasonOf(action, error), final: isFinal(error), message };
}

/** What waits for the end of a policy finishes within a minute after it. */
const POLICY_RETRY_MS = 30_000;

/** The field that the API server refuses with another value than was sent; undefined: it refuses what was sent. */
function changedField(action: Action, error: KubeError): string | undefined {
  if (error.kind !== 'invalid' || (action.kind !== 'create' && action.kind !== 'apply')) return undefined;
  if (error.resource === RESOURCES.Secret.plural) return undefined;
  return error.causes.find((cause) => isOtherValue(action.object, cause))?.field;
}

/** What Kubernetes says of a storage class without allowVolumeExpansion. */
const RIGID = /must support resize/i;

/** Quotas, storage classes, admission rules and missing rights all forbid: only the text tells which. */
function reasonOf(action: Action, error: KubeError): Failure['reason'] {
  if (error.kind !== 'forbidden') return 'Refused';
  const said = error.said();
  if (QUOTA.test(said)) return 'QuotaExceeded';
  return action.kind === 'volume' && RIGID.test(said) ? 'VolumeNotExpandable' : 'Refused';
}

/** An admission rule says that it denies; without rights one is only told that one may not. */
const DENIED = /denied the request|denied request|violates PodSecurity/i;

function isFinal(error: KubeError): boolean {
  return error.kind !== 'forbidden' || DENIED.test(error.said());
}

const SHOWN_CAUSES = 3;

/**
 * Object, field and what the cluster says. An action may need calls of several kinds: it is told which one was refused. Of a
 * Secret nothing that the cluster says is repeated.
 */
function refusalText(action: Action, error: KubeError): string {
  if (error.resource === RESOURCES.Secret.plural)
    return `the cluster refuses to ${error.action} (${error.kind})`;
  if (!('object' in action)) return error.message;
  const causes = error.causes
    .filter(({ field }) => field !== '')
    .slice(0, SHOWN_CAUSES)
    .map(({ field, message }) => `${field}: ${message}`);
  const { kind, metadata } = action.object;
  return causes.length === 0 ? error.message : `${kind} ${metadata.name}: ${causes.join('; ')}`;
}
