import type { ManagedDeploymentStatus } from '../../../contract/resource/managed-deployment.ts';
import type { Decision } from '../decide/decide.ts';
import type { Observed } from '../observed.ts';
import { withInputs } from '../rollout/after-failure.ts';
import { type FailedRevision, isSame } from '../rollout/target.ts';
import { shortened } from './conditions.ts';

/** What was just seen to fail, as it is recorded; null: nothing was. */
function seenFailure(
  { resource, storedTemplates }: Observed,
  { target, verdict }: Decision,
  activeRevision: ManagedDeploymentStatus['activeRevision'],
): FailedRevision | null {
  if (verdict.kind !== 'failed' || !verdict.seen || target.revision === null) return null;
  const { reason, message, culprit } = verdict;
  const { id, number } = target.awaits ?? target.revision;
  const templates = target.awaits?.templates ?? target.name;
  const inPlace = number === activeRevision?.number;
  const seen: FailedRevision = {
    ...(id === undefined ? { number } : { id, number }),
    reason,
    message: `${shortened(message)}; ${inPlace ? CHANGE_AGAIN : REDEPLOY}`,
    culprit,
    ...(templates === null ? {} : { templates }),
    generation: resource.spec.generation,
  };
  const tried = storedTemplates.find(({ name }) => name === templates);
  return withInputs(seen, resource, tried, activeRevision?.templates);
}

/**
 * The failures that stand: what was just seen to fail, or what is still wanted and has failed. That of a revision is
 * kept while a newer one rolls: the hub may not have heard of it yet. What fails of the active revision while another
 * one is wanted that has failed before is a second failure beside that one.
 */
export function nextFailures(
  { failedRevision }: ManagedDeploymentStatus,
  observed: Observed,
  decision: Decision,
  activeRevision: ManagedDeploymentStatus['activeRevision'],
): Pick<ManagedDeploymentStatus, 'failedRevision' | 'failedChange'> {
  const { failed, failedChange } = decision.target;
  const seen = seenFailure(observed, decision, activeRevision);
  if (seen !== null) {
    const isWanted = isSame(seen, observed.resource.spec.revision);
    const isOfActive = activeRevision !== undefined && isSame(seen, activeRevision);
    return isWanted || failedRevision === undefined || !isOfActive
      ? { failedRevision: seen }
      : { failedRevision, failedChange: seen };
  }
  if (failed !== null) return { failedRevision: failed, ...(failedChange === null ? {} : { failedChange }) };
  if (failedRevision?.id === undefined) return {};
  return failedRevision.number > (activeRevision?.number ?? 0) ? { failedRevision } : {};
}

/** Nothing tries again what has failed: who reads of it is told what does. */
const REDEPLOY = 'it is not tried again: redeploy makes a new revision of the same content';
const CHANGE_AGAIN = 'it is not tried again until source_config changes';
