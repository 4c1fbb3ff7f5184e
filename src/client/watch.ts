import { setTimeout as delay } from 'node:timers/promises';
import type { Deployment } from './api-types.ts';
import type { Context } from './context.ts';
import { findRevisionId, type Revision } from './lookup.ts';
import { ApiProblem } from './problem.ts';
import { cell } from './table.ts';

/** Follows a deployment until it is settled. */

const EVERY_MS = 1000;

/** A revision that will not come up by itself any more. */
const FAILED: ReadonlySet<Revision['status']> = new Set([
  'CREATE_FAILED',
  'BUILD_FAILED',
  'DEPLOY_FAILED',
  'SKIPPED',
  'INTERRUPTED',
]);

/** How a watch ended: with a message, and whether that is what was wanted. */
export interface Outcome {
  readonly ok: boolean;
  readonly message: string;
}

/** How a rollout of what is wanted ended badly; a change of source_config has no revision that tells it. */
const ROLLOUT_ENDS: ReadonlySet<string> = new Set(['RolledBack', 'RolloutFailed']);

/** The condition that tells of a change that was seen and did not come up. */
function refusedChange({ remote_reconciled: seen, conditions }: Deployment) {
  if (!seen) return undefined;
  return conditions.find(
    ({ type, status, reason }) => type === 'Progressing' && status === 'False' && ROLLOUT_ENDS.has(reason),
  );
}

function settled({ status, remote_reconciled: seen, ...deployment }: Deployment): Outcome | null {
  const { name, latest_revision_id: latest, active_revision_id: active, conditions } = deployment;
  if (!seen) return null;
  // The active revision goes on serving while a change of source_config is rolled out.
  const isThere = conditions.some((condition) => condition.type === 'Ready' && condition.status === 'True');
  if (status === 'READY' && latest !== null && active === latest && isThere)
    return { ok: true, message: `${name} is READY with its latest revision active` };
  return status === 'UNUSED' ? { ok: true, message: `${name} is UNUSED: nothing of it is to run` } : null;
}

/** The first condition that does not hold, as a line. */
function waitsFor({ conditions }: Deployment): string {
  const waiting = conditions.find(({ type, status }) => status !== 'True' && type !== 'Progressing');
  return waiting === undefined ? '' : `${waiting.reason}: ${waiting.message}`;
}

async function failure(context: Context, deployment: Deployment): Promise<Outcome | null> {
  const { client } = context;
  if (deployment.latest_revision_id === null || deployment.status === 'AWAITING_DELETE') return null;
  const path = {
    deployment_id: deployment.id,
    revision_id: await findRevisionId(client, deployment, undefined),
  };
  const { number, status } = await client.call('getRevision', { path });
  const refused = refusedChange(deployment);
  if (!FAILED.has(status) && refused === undefined) return null;
  const { summary, remedy } = await client.call('explainRevision', { path });
  const advice = remedy === null ? '' : `\n${cell(remedy.text)}`;
  const change = refused === undefined ? '' : `\n${refused.reason}: ${cell(refused.message)}`;
  return { ok: false, message: `revision ${number}: ${status}. ${cell(summary)}${change}${advice}` };
}

/** The deployment as it is; null: it is gone. */
async function read({ client }: Context, id: string): Promise<Deployment | null> {
  try {
    return await client.call('getDeployment', { path: { deployment_id: id }, query: { mask_secrets: true } });
  } catch (error) {
    if (error instanceof ApiProblem && error.status === 404) return null;
    throw error;
  }
}

/** Notes each change on the way; ends when it is settled, has failed, is gone, or the time is up. */
export async function watch(context: Context, id: string, timeoutSeconds: number): Promise<Outcome> {
  const end = Date.now() + timeoutSeconds * 1000;
  let last = '';
  for (;;) {
    const deployment = await read(context, id);
    if (deployment === null) return { ok: true, message: 'the deployment is gone' };
    const outcome = settled(deployment) ?? (await failure(context, deployment));
    if (outcome !== null) return outcome;
    const line = `${cell(deployment.name)}: ${deployment.status}  ${cell(waitsFor(deployment))}`;
    if (line !== last) context.note(line);
    last = line;
    if (context.stopped.aborted) return { ok: false, message: `stopped: ${line}` };
    if (Date.now() >= end)
      return { ok: false, message: `not settled after ${timeoutSeconds} seconds: ${line}` };
    await delay(EVERY_MS, undefined, { signal: context.stopped }).catch(() => undefined);
  }
}
