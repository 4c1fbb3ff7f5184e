import { type Cause, type ExplainFacts, link, STATUS_WORDS, timeOf } from './explain-facts.ts';
import type { FailureSource } from './failure-source.ts';
import { symptomRemedyOf } from './symptom-remedies.ts';

/** The last causes of the chain: the source of a failed rollout. */

/** A failure source as a sentence, part by part. */
function describeFailureSource(failureSource: FailureSource): string {
  const { component, kind, object, container, container_kind: role } = failureSource;
  const { exit_code: code, field, detail } = failureSource;
  const words = [
    component,
    kind === undefined && object === undefined ? undefined : [kind, object].filter(Boolean).join(' '),
    container === undefined ? undefined : `container ${container}${role === undefined ? '' : ` (${role})`}`,
    code === undefined ? undefined : `exit ${code}`,
    field,
    detail,
  ].filter((word) => word !== undefined && word !== '');
  return words.length === 0 ? 'No details are known.' : words.join(': ');
}

/** The source of the failure of the revision. */
export function failureSourceCause({ revision }: ExplainFacts): Cause[] {
  const { failureSource, reason: reported, status, updatedAt } = revision;
  if (failureSource === null) return [];
  const reason = reported ?? STATUS_WORDS[status][1];
  return [
    link({
      level: 'object',
      object: failureSource,
      reason,
      message: describeFailureSource(failureSource),
      at: updatedAt,
    }),
  ];
}

/** The cause for a failed in-place change of the active revision. The revision itself has not failed. */
export function inPlaceCause({ revision, active, deployment }: ExplainFacts, current: boolean): Cause[] {
  const { inPlaceFailure: failure, conditions, updatedAt } = deployment;
  if (failure === null || active?.id !== revision.id) return [];
  const { reason, message, failureSource = null } = failure;
  const ready = conditions.find(({ type, status }) => type === 'Ready' && status === 'False');
  const why = failureSource === null ? message : describeFailureSource(failureSource);
  return [
    link({
      level: 'object',
      object: failureSource,
      reason,
      message: `A change of revision ${revision.number} failed: ${why}`,
      at: timeOf(ready?.lastTransitionTime ?? '', updatedAt),
      current,
    }),
  ];
}

const isOfService = ({ component }: { component: string }) =>
  component === 'database' || component === 'cache';

/** Symptoms of running pods of the active revision, and of database and cache. */
export function symptomCauses({ revision, active, deployment }: ExplainFacts, current: boolean): Cause[] {
  if (active?.id !== revision.id) return [];
  return (
    (deployment.symptoms ?? [])
      .filter(({ quiet }) => quiet !== true)
      // Symptoms of data services come last, as the root cause, because an app fails without its database.
      .toSorted((a, b) => Number(isOfService(a)) - Number(isOfService(b)))
      .map((symptom) => {
        const { reason, message, failureSource = null, since } = symptom;
        const remedy = symptomRemedyOf(symptom);
        return link({
          level: 'object',
          object: failureSource,
          reason,
          message,
          at: timeOf(since, deployment.updatedAt),
          current,
          ...(remedy === null ? {} : { remedy }),
        });
      })
  );
}
