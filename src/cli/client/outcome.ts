import type { Deployment } from './api.gen.ts';
import type { End } from './exit-codes.ts';
import type { Revision } from './lookup.ts';

/** When a wait for a deployment ends, and how. */

export interface Outcome {
  readonly end: End;
  readonly message: string;
  /** The next command, which gets the deployment as its argument. null: there is nothing to do. */
  readonly next: string | null;
}

export const reached = (message: string): Outcome => ({ end: 'reached', message, next: null });
const failed = (message: string, next: string | null): Outcome => ({ end: 'failed', message, next });

/** Statuses of a revision that will not become active. */
export const FAILED: ReadonlySet<Revision['status']> = new Set([
  'CREATE_FAILED',
  'BUILD_FAILED',
  'DEPLOY_FAILED',
  'SKIPPED',
  'INTERRUPTED',
]);

/** Statuses of a revision whose build has not ended, if it has one. */
export const PREPARING: ReadonlySet<Revision['status']> = new Set(['CREATING', 'AWAITING_BUILD', 'BUILDING']);

/**
 * Reasons of a failed rollout. A change of source_config has no revision, so only these reasons show that such a change
 * failed.
 */
const ROLLOUT_ENDS: ReadonlySet<string> = new Set(['RolledBack', 'RolloutFailed']);

/**
 * The condition that reports a failed change of source_config.
 * @param awaited the revision that must become active; null: the latest revision
 */
export function refusedChange(deployment: Deployment, awaited: string | null) {
  const { remote_reconciled: seen, conditions, latest_revision_id: latest } = deployment;
  // The condition describes the latest revision.
  if (!seen || (awaited !== null && awaited !== latest)) return undefined;
  return conditions.find(
    ({ type, status, reason }) => type === 'Progressing' && status === 'False' && ROLLOUT_ENDS.has(reason),
  );
}

/**
 * The end of a wait that the deployment alone shows.
 * @param deployment null: it does not exist any more
 * @param awaited the revision that must become active; null: the latest revision
 */
export function outcomeOf(deployment: Deployment | null, awaited: string | null): Outcome | null {
  if (deployment === null) return failed('the deployment was deleted during the wait', null);
  const { name, status, remote_reconciled: seen, conditions } = deployment;
  const { latest_revision_id: latest, active_revision_id: active } = deployment;
  if (status === 'AWAITING_DELETE') return failed(`${name} is being deleted`, 'restore');
  if (!seen) return null;
  // The active revision keeps serving while a change of source_config is rolled out.
  const isThere = conditions.some((condition) => condition.type === 'Ready' && condition.status === 'True');
  const isWanted = latest !== null && active === (awaited ?? latest);
  if (status === 'READY' && isWanted && isThere)
    return reached(
      active === latest
        ? `${name} is READY with its latest revision active`
        : `${name} is READY with this revision active; a newer revision is in progress`,
    );
  return status === 'UNUSED' && latest === null ? nothingRuns(name) : null;
}

const nothingRuns = (name: string) => reached(`${name} is UNUSED: no pods are desired`);

/** The end of a wait for a revision that has not failed. */
export function outcomeOfRevision(
  deployment: Deployment,
  { id, number, status }: Pick<Revision, 'id' | 'number' | 'status'>,
): Outcome | null {
  if (status === 'DEPLOYED' && id !== deployment.latest_revision_id)
    return reached(`revision ${number} was deployed; a newer revision replaces it`);
  // A deployment whose first build runs or has failed is UNUSED too.
  const isOff = deployment.status === 'UNUSED' && deployment.effective_resource_spec.max_scale === 0;
  return isOff && deployment.remote_reconciled && !PREPARING.has(status) && !FAILED.has(status)
    ? nothingRuns(deployment.name)
    : null;
}

/** Until when a deletion can be cancelled. The API gives this time only in the text of a condition. */
function restorableUntil({ conditions }: Deployment): Date | null {
  const texts = conditions.map(({ message }) => /can be restored until (\S+)/.exec(message)?.[1]);
  const until = new Date(texts.find((text) => text !== undefined) ?? Number.NaN);
  return Number.isNaN(until.getTime()) ? null : until;
}

/**
 * The end of a wait for a deletion.
 * @param deployment null: it does not exist any more
 * @param deadline when the wait times out
 */
export function outcomeOfDeletion(deployment: Deployment | null, deadline: Date): Outcome | null {
  if (deployment === null) return reached('the deployment is deleted');
  const { name, status } = deployment;
  if (status !== 'AWAITING_DELETE') return failed(`${name} is ${status}: its deletion was cancelled`, null);
  const until = restorableUntil(deployment);
  if (until === null || until <= deadline) return null;
  return failed(
    `${name} is deleted after its grace period, which ends at ${until.toISOString()}, after the timeout of the wait`,
    'restore',
  );
}
