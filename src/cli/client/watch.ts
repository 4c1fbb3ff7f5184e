import { setTimeout as delay } from 'node:timers/promises';
import type { Deployment, Operations } from './api-types.ts';
import { ApiProblem, isPassing } from './call-problem.ts';
import type { Client } from './client.ts';
import type { Context } from './context.ts';
import { findRevisionId, type Revision } from './lookup.ts';
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

/** How a watch ended: as wanted, otherwise, or it could not be found out. */
export interface Outcome {
  readonly end: 'reached' | 'failed' | 'unknown';
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

/** @param awaited the revision that is to be active; null: the latest one, whichever that is */
function settled(
  { status, remote_reconciled: seen, ...deployment }: Deployment,
  awaited: string | null,
): Outcome | null {
  const { name, latest_revision_id: latest, active_revision_id: active, conditions } = deployment;
  if (!seen) return null;
  // The active revision goes on serving while a change of source_config is rolled out.
  const isThere = conditions.some((condition) => condition.type === 'Ready' && condition.status === 'True');
  const isWanted = latest !== null && active === (awaited ?? latest);
  if (status === 'READY' && isWanted && active !== latest && isThere)
    return {
      end: 'reached',
      message: `${name} is READY with this revision active; a newer revision is in progress`,
    };
  if (status === 'READY' && isWanted && isThere)
    return { end: 'reached', message: `${name} is READY with its latest revision active` };
  // So is one whose first build has failed: of a revision that is there it tells nothing by itself.
  const isMeant = latest === null || deployment.effective_resource_spec.max_scale === 0;
  return status === 'UNUSED' && isMeant
    ? { end: 'reached', message: `${name} is UNUSED: no pods are desired` }
    : null;
}

/** The first condition that does not hold, as a line. */
function waitsFor({ conditions }: Deployment): string {
  const waiting = conditions.find(({ type, status }) => status !== 'True' && type !== 'Progressing');
  return waiting === undefined ? '' : `${waiting.reason}: ${waiting.message}`;
}

type Explanation = Operations['explainRevision']['answer'];

/** What failed, as near to the cause as it is known: component, pod, container, exit code and what was said of it. */
function source({ causes = [] }: Partial<Explanation>): string {
  const cause = causes.findLast(({ object }) => object != null && Object.keys(object).length > 0);
  if (cause?.object == null) return '';
  const { component, kind, object, container, exit_code: exitCode } = cause.object;
  const where = [
    component === undefined ? null : `component ${component}`,
    object === undefined ? null : `${kind ?? 'object'} ${object}`,
    container === undefined ? null : `container ${container}`,
    exitCode === undefined ? null : `exit code ${exitCode}`,
  ].filter((part) => part !== null);
  return `\n${cause.reason}: ${cell(where.join(', '))}: ${cell(cause.message)}`;
}

async function failure(
  client: Client,
  deployment: Deployment,
  awaited: string | null,
  signal: AbortSignal,
): Promise<Outcome | null> {
  if (deployment.latest_revision_id === null || deployment.status === 'AWAITING_DELETE') return null;
  const path = {
    deployment_id: deployment.id,
    revision_id: awaited ?? (await findRevisionId(client, deployment, undefined)),
  };
  const { number, status } = await client.call('getRevision', { path, signal });
  const refused = refusedChange(deployment);
  if (!FAILED.has(status) && refused === undefined) return null;
  const why = await client.call('explainRevision', { path, signal });
  const { summary, remedy } = why;
  const advice = remedy === null ? '' : `\n${cell(remedy.text)}`;
  const change = refused === undefined ? '' : `\n${refused.reason}: ${cell(refused.message)}`;
  return {
    end: 'failed',
    message: `revision ${number}: ${status}. ${cell(summary)}${source(why)}${change}${advice}`,
  };
}

/** The deployment as it is; null: it is gone. */
async function read(client: Client, id: string, signal: AbortSignal): Promise<Deployment | null> {
  const path = { deployment_id: id };
  try {
    return await client.call('getDeployment', { path, query: { mask_secrets: true }, signal });
  } catch (error) {
    if (error instanceof ApiProblem && error.status === 404) return null;
    throw error;
  }
}

/** What one look tells: how it ended, or what it waits for. */
interface Look {
  readonly outcome: Outcome | null;
  readonly line: string;
  /** False: there was no answer that tells anything. */
  readonly isTold: boolean;
}

async function look(
  { client }: Context,
  id: string,
  awaited: string | null,
  signal: AbortSignal,
): Promise<Look> {
  try {
    const deployment = await read(client, id, signal);
    if (deployment === null)
      return { outcome: { end: 'reached', message: 'the deployment is deleted' }, line: '', isTold: true };
    const outcome = settled(deployment, awaited) ?? (await failure(client, deployment, awaited, signal));
    const line = `${cell(deployment.name)}: ${deployment.status}  ${cell(waitsFor(deployment))}`;
    return { outcome, line, isTold: true };
  } catch (error) {
    if (!isPassing(error)) throw error;
    return { outcome: null, line: error.message, isTold: false };
  }
}

/**
 * Notes each change on the way; ends when it is settled, has failed, is gone, or the time is up. Holds out while the API
 * cannot be asked.
 * @param awaited the revision that is to be active; null: the latest one, whichever that is
 * @throws ApiProblem when the API refuses
 */
export async function watch(
  context: Context,
  id: string,
  timeoutSeconds: number,
  awaited: string | null = null,
): Promise<Outcome> {
  const signal = AbortSignal.any([context.stopped, AbortSignal.timeout(Math.ceil(timeoutSeconds * 1000))]);
  let last: Look = { outcome: null, line: 'no response from the API yet', isTold: false };
  for (;;) {
    const seen = await look(context, id, awaited, signal);
    if (seen.outcome !== null) return seen.outcome;
    const note = seen.isTold ? seen.line : `${seen.line}; still waiting`;
    // An end of the time is no outage: what was heard last stays.
    if (!signal.aborted) {
      if (seen.line !== last.line) context.note(note);
      last = seen;
    }
    if (context.stopped.aborted) return { end: 'failed', message: `stopped: ${last.line}` };
    if (signal.aborted) {
      const message = `timed out: not settled after ${timeoutSeconds} seconds: ${last.line}`;
      return { end: last.isTold ? 'failed' : 'unknown', message };
    }
    await delay(EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}
