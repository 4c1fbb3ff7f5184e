import { maskCredentials } from '../../../domain/redaction/printed-credentials.ts';
import { componentName } from '../../../workloads/names.ts';
import { actionId } from '../action.ts';
import type { Decision } from '../decide/decide.ts';
import { contractField } from '../observe/contract-field.ts';
import type { Failure } from '../observe/failure.ts';
import type { Observed } from '../observed.ts';
import { detailOf, namingField } from './symptoms.ts';
import { componentsOf } from './target.ts';

/**
 * Returns the decision with a failed rollout if the cluster rejects one of its Deployments because of its content,
 * because only other templates can then succeed.
 */
export function failedByRefusal(
  failures: readonly Failure[],
  decision: Decision,
  { resource }: Observed,
): Decision {
  const { target, verdict } = decision;
  if (target.kind !== 'rollout' || verdict.kind !== 'progressing') return decision;
  for (const component of componentsOf(target)) {
    const name = componentName(resource, component);
    const ids = [actionId('create', 'Deployment', name), actionId('apply', 'Deployment', name)];
    const refused = failures.find((failure) => failure.final && ids.includes(failure.actionId));
    if (refused === undefined) continue;
    const detail = maskCredentials(refused.message);
    const rendered = target.templates?.[component]?.spec;
    const field = contractField(resource, { text: refused.message, component, rendered });
    const named = field === undefined ? {} : { field };
    const failureSource = { component, kind: 'Deployment', object: name, ...detailOf(detail), ...named };
    const message = `${component}: ${detail}`;
    return {
      ...decision,
      startedAt: null,
      recheckAt: null,
      verdict: {
        kind: 'failed',
        seen: true,
        awaited: verdict.awaited,
        reason: 'AdmissionRefused',
        message: field === undefined ? message : namingField(message, field),
        failureSource,
      },
    };
  }
  return decision;
}
