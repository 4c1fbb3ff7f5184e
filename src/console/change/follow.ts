import type { Deployment, Explanation, RevisionStatus } from '../api/types.ts';

/** How far a change is. */

export interface Progress {
  readonly state: 'running' | 'done' | 'failed' | 'unknown';
  readonly text: string;
}

const FAILED: ReadonlySet<RevisionStatus> = new Set([
  'CREATE_FAILED',
  'BUILD_FAILED',
  'DEPLOY_FAILED',
  'SKIPPED',
  'INTERRUPTED',
]);

/** Reasons with which a rollout ends without success. A change of source_config has no revision that fails. */
const ROLLOUT_ENDS: ReadonlySet<string> = new Set(['RolledBack', 'RolloutFailed']);

function formerServes({ conditions, active_revision_id: active, latest_revision_id: latest }: Deployment) {
  const serves = conditions.some(({ type, status }) => type === 'Serving' && status === 'True');
  return serves && active !== null && active !== latest ? ' The former revision still serves.' : '';
}

/** A failed change; null: nothing has failed. */
function failureOf(deployment: Deployment, explanation: Explanation | null): string | null {
  const { conditions, remote_reconciled: isSeen, latest_revision_id: latest } = deployment;
  if (explanation?.revision_id === latest && explanation !== null && FAILED.has(explanation.status))
    return `Revision ${explanation.number} is ${explanation.status}.${formerServes(deployment)}`;
  const ended = conditions.find(
    ({ type, status, reason }) => type === 'Progressing' && status === 'False' && ROLLOUT_ENDS.has(reason),
  );
  return isSeen && ended !== undefined ? `${ended.reason}: ${ended.message}` : null;
}

function isServing({
  status,
  conditions,
  latest_revision_id: latest,
  active_revision_id: active,
}: Deployment) {
  const isReady = conditions.some((condition) => condition.type === 'Ready' && condition.status === 'True');
  return status === 'READY' && isReady && latest !== null && latest === active;
}

/**
 * How far a change is.
 * @param generation of the change
 * @param explanation of the latest revision; null: not known
 */
export function progressOf(
  deployment: Deployment,
  {
    generation,
    explanation,
    isStale,
  }: { generation: number; explanation: Explanation | null; isStale: boolean },
): Progress {
  if (isStale)
    return { state: 'unknown', text: 'The state is not known, because it could not be requested.' };
  const { status, remote_reconciled: isSeen } = deployment;
  if (deployment.generation < generation) return { state: 'running', text: 'Waiting for the change …' };
  if (status === 'AWAITING_DELETE') return { state: 'failed', text: 'The deployment is being deleted.' };
  const failure = failureOf(deployment, explanation);
  if (failure !== null) return { state: 'failed', text: failure };
  if (status === 'UNKNOWN')
    return { state: 'unknown', text: explanation?.summary ?? 'The cluster does not report the state.' };
  if (isSeen && isServing(deployment))
    return { state: 'done', text: 'READY: the cluster runs what was requested.' };
  const isOff = deployment.effective_resource_spec.max_scale === 0;
  if (isSeen && isOff && status === 'UNUSED')
    return { state: 'done', text: 'UNUSED: the deployment is switched off, as requested.' };
  return { state: 'running', text: explanation?.summary ?? 'The cluster has not reported the change yet.' };
}

/** The generation that a URL asks to follow. */
export function followOf(search: Readonly<Record<string, unknown>>): { readonly follow?: string } {
  const { follow } = search;
  return typeof follow === 'string' && /^\d{1,15}$/.test(follow) ? { follow } : {};
}
