import type { ManagedDeploymentStatus } from '../../../contract/resource/managed-deployment.ts';
import type { Decision } from '../decide/decide.ts';
import type { Observed } from '../observed.ts';
import { withInputs } from '../rollout/after-failure.ts';
import { awaitedBy, type FailedRevision, failureOf, isSame, standingFailures } from '../rollout/target.ts';
import { shortened } from './conditions.ts';

/** The failure that this reconcile found, as recorded in the status; null: none. */
function seenFailure(
  { resource, storedTemplates }: Observed,
  { target, verdict }: Decision,
  activeRevision: ManagedDeploymentStatus['activeRevision'],
): FailedRevision | null {
  if (verdict.kind !== 'failed' || !verdict.seen || target.revision === null) return null;
  const { reason, message, failureSource } = verdict;
  const awaits = awaitedBy(target);
  const { id, number } = awaits ?? target.revision;
  const templates = awaits?.templates ?? target.name;
  const inPlace = number === activeRevision?.number;
  const seen: FailedRevision = {
    ...(id === undefined ? { number } : { id, number }),
    reason,
    message: `${shortened(message)}; ${inPlace ? CHANGE_AGAIN : REDEPLOY}`,
    failureSource,
    ...(templates === null ? {} : { templates }),
    recordGeneration: resource.spec.recordGeneration,
  };
  const tried = storedTemplates.find(({ name }) => name === templates);
  return withInputs(seen, resource, tried, activeRevision?.templates);
}

/**
 * The failures to record: a failure that this reconcile found, or the failure of a revision that is still requested.
 * The failure of a revision is kept during the rollout of a newer revision, because the hub may not have received it.
 * If the active revision fails in place while a failed revision is still requested, both are recorded. So are a failed
 * change and the failure of the former templates with changed values of their Secrets.
 */
export function nextFailures(
  { failedRevision }: ManagedDeploymentStatus,
  observed: Observed,
  decision: Decision,
  activeRevision: ManagedDeploymentStatus['activeRevision'],
): Pick<ManagedDeploymentStatus, 'failedRevision' | 'failedChange'> {
  const standing = standingFailures(decision.target);
  const failure = failureOf(decision.target) ?? standing;
  const seen = seenFailure(observed, decision, activeRevision);
  if (seen !== null && standing !== null) return { failedRevision: standing.failed, failedChange: seen };
  if (seen !== null) {
    const isWanted = isSame(seen, observed.resource.spec.revision);
    const isOfActive = activeRevision !== undefined && isSame(seen, activeRevision);
    return isWanted || failedRevision === undefined || !isOfActive
      ? { failedRevision: seen }
      : { failedRevision, failedChange: seen };
  }
  if (failure !== null) {
    const { failed, failedChange } = failure;
    return { failedRevision: failed, ...(failedChange === null ? {} : { failedChange }) };
  }
  if (failedRevision?.id === undefined) return {};
  return failedRevision.number > (activeRevision?.number ?? 0) ? { failedRevision } : {};
}

/** A failed revision is not retried. The message names the step that starts a new attempt. */
const REDEPLOY = 'it is not retried: redeploy creates a new revision with the same content';
const CHANGE_AGAIN = 'it is not retried until source_config changes';
