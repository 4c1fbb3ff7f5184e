import { setTimeout as delay } from 'node:timers/promises';
import type { Deployment } from './api.gen.ts';
import { ApiProblem, isPassing } from './call-problem.ts';
import type { Answer, Client } from './client.ts';
import type { Context } from './context.ts';
import type { End } from './exit-codes.ts';
import { findRevisionId, type Revision } from './lookup.ts';
import { cell } from './table.ts';

/** Follows a deployment until it has settled. */

const EVERY_MS = 1000;

/** Statuses of a revision that will not become active. */
const FAILED: ReadonlySet<Revision['status']> = new Set([
  'CREATE_FAILED',
  'BUILD_FAILED',
  'DEPLOY_FAILED',
  'SKIPPED',
  'INTERRUPTED',
]);

/** Result of a watch: reached, failed or unknown. */
export interface Outcome {
  readonly end: End;
  readonly message: string;
}

/**
 * Reasons of a failed rollout. A change of source_config has no revision, so only these reasons show that such a change
 * failed.
 */
const ROLLOUT_ENDS: ReadonlySet<string> = new Set(['RolledBack', 'RolloutFailed']);

/** The condition that reports a failed change of source_config. */
function refusedChange({ remote_reconciled: seen, conditions }: Deployment) {
  if (!seen) return undefined;
  return conditions.find(
    ({ type, status, reason }) => type === 'Progressing' && status === 'False' && ROLLOUT_ENDS.has(reason),
  );
}

/** @param awaited the revision that must become active; null: the latest revision */
function settled(
  { status, remote_reconciled: seen, ...deployment }: Deployment,
  awaited: string | null,
): Outcome | null {
  const { name, latest_revision_id: latest, active_revision_id: active, conditions } = deployment;
  if (!seen) return null;
  // The active revision keeps serving while a change of source_config is rolled out.
  const isThere = conditions.some((condition) => condition.type === 'Ready' && condition.status === 'True');
  const isWanted = latest !== null && active === (awaited ?? latest);
  if (status === 'READY' && isWanted && active !== latest && isThere)
    return {
      end: 'reached',
      message: `${name} is READY with this revision active; a newer revision is in progress`,
    };
  if (status === 'READY' && isWanted && isThere)
    return { end: 'reached', message: `${name} is READY with its latest revision active` };
  // A deployment whose first build failed is also UNUSED. UNUSED is therefore a success only without a revision or with
  // scale 0.
  const isMeant = latest === null || deployment.effective_resource_spec.max_scale === 0;
  return status === 'UNUSED' && isMeant
    ? { end: 'reached', message: `${name} is UNUSED: no pods are desired` }
    : null;
}

/** The first condition that is not True, as a line. */
function waitsFor({ conditions }: Deployment): string {
  const waiting = conditions.find(({ type, status }) => status !== 'True' && type !== 'Progressing');
  return waiting === undefined ? '' : `${waiting.reason}: ${waiting.message}`;
}

type Explanation = Answer<'get', '/v2/deployments/{deployment_id}/revisions/{revision_id}/explain'>;

/** The most specific known cause of the failure: component, pod, container, exit code and message. */
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
  const { number, status } = await client.GET('/v2/deployments/{deployment_id}/revisions/{revision_id}', {
    params: { path },
    signal,
  });
  const refused = refusedChange(deployment);
  if (!FAILED.has(status) && refused === undefined) return null;
  const why = await client.GET('/v2/deployments/{deployment_id}/revisions/{revision_id}/explain', {
    params: { path },
    signal,
  });
  const { summary, remedy } = why;
  const advice = remedy === null ? '' : `\n${cell(remedy.text)}`;
  const change = refused === undefined ? '' : `\n${refused.reason}: ${cell(refused.message)}`;
  return {
    end: 'failed',
    message: `revision ${number}: ${status}. ${cell(summary)}${source(why)}${change}${advice}`,
  };
}

/** The current deployment. null: it does not exist any more. */
async function read(client: Client, id: string, signal: AbortSignal): Promise<Deployment | null> {
  const params = { path: { deployment_id: id }, query: { mask_secrets: true } };
  try {
    return await client.GET('/v2/deployments/{deployment_id}', { params, signal });
  } catch (error) {
    if (error instanceof ApiProblem && error.status === 404) return null;
    throw error;
  }
}

/** Result of one poll: the outcome of the watch, or what the deployment waits for. */
interface Poll {
  readonly outcome: Outcome | null;
  readonly line: string;
  /** False: the API did not give a usable response. */
  readonly hasAnswer: boolean;
}

async function poll(
  { client }: Context,
  id: string,
  awaited: string | null,
  signal: AbortSignal,
): Promise<Poll> {
  try {
    const deployment = await read(client, id, signal);
    if (deployment === null)
      return { outcome: { end: 'reached', message: 'the deployment is deleted' }, line: '', hasAnswer: true };
    const outcome = settled(deployment, awaited) ?? (await failure(client, deployment, awaited, signal));
    const line = `${cell(deployment.name)}: ${deployment.status}  ${cell(waitsFor(deployment))}`;
    return { outcome, line, hasAnswer: true };
  } catch (error) {
    if (!isPassing(error)) throw error;
    return { outcome: null, line: error.message, hasAnswer: false };
  }
}

/**
 * Prints each change until the deployment has settled, failed or been deleted, or until the timeout. Keeps polling while the
 * API is not available.
 * @param awaited the revision that must become active; null: the latest revision
 * @throws ApiProblem when the API rejects a call
 */
export async function watch(
  context: Context,
  id: string,
  timeoutSeconds: number,
  awaited: string | null = null,
): Promise<Outcome> {
  const signal = AbortSignal.any([context.stopped, AbortSignal.timeout(Math.ceil(timeoutSeconds * 1000))]);
  let last: Poll = { outcome: null, line: 'no response from the API yet', hasAnswer: false };
  for (;;) {
    const seen = await poll(context, id, awaited, signal);
    if (seen.outcome !== null) return seen.outcome;
    const note = seen.hasAnswer ? seen.line : `${seen.line}; still waiting`;
    // A call that the timeout aborted is not an outage, so the last response is kept.
    if (!signal.aborted) {
      if (seen.line !== last.line) context.note(note);
      last = seen;
    }
    if (context.stopped.aborted) return { end: 'failed', message: `stopped: ${last.line}` };
    if (signal.aborted) {
      const message = `timed out: not settled after ${timeoutSeconds} seconds: ${last.line}`;
      return { end: last.hasAnswer ? 'failed' : 'unknown', message };
    }
    await delay(EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}
