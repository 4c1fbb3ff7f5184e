import type { KubeError } from '../kube/errors.ts';
import { RESOURCES } from '../kube/resources.ts';
import type { Action } from './action.ts';
import type { Failure } from './failure.ts';
import { QUOTA } from './failure-rules.ts';

/** That the cluster refuses a call which the action needs: what is told of it, and whether another object alone can help. */
export function refusal(action: Action, error: KubeError): Failure {
  if (isSelectorChanged(action, error)) {
    const message = `${refusalText(action, error)}: a mutating admission policy or webhook of the cluster changes the selector`;
    return {
      actionId: action.id,
      reason: 'FieldsChangedByCluster',
      final: false,
      message,
      retryWithinMs: POLICY_RETRY_MS,
    };
  }
  const reason = reasonOf(action, error);
  return { actionId: action.id, reason, final: isFinal(error), message: refusalText(action, error) };
}

/** What waits for the end of a policy finishes within a minute after it. */
const POLICY_RETRY_MS = 30_000;

/**
 * A selector that Berth applies matches its template, and where the live one differs, another action is planned. So a
 * selector that is refused is not the one that was sent.
 */
function isSelectorChanged({ kind }: Action, error: KubeError): boolean {
  if (error.kind !== 'invalid' || (kind !== 'create' && kind !== 'apply')) return false;
  return error.causes.some(
    ({ field, message }) =>
      (field === 'spec.selector' && /immutable/i.test(message)) ||
      (field === 'spec.template.metadata.labels' && /does not match template/i.test(message)),
  );
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
