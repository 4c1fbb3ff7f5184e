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

function settled({ status, remote_reconciled: seen, ...deployment }: Deployment): Outcome | null {
  const { name, latest_revision_id: latest, active_revision_id: active } = deployment;
  if (!seen) return null;
  if (status === 'READY' && latest !== null && active === latest)
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
  const revision = await client.call('getRevision', { path });
  if (!FAILED.has(revision.status)) return null;
  const { summary, remedy } = await client.call('explainRevision', { path });
  const advice = remedy === null ? '' : `\n${cell(remedy.text)}`;
  return { ok: false, message: `revision ${revision.number}: ${revision.status}. ${cell(summary)}${advice}` };
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
