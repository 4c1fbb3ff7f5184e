import { setTimeout as delay } from 'node:timers/promises';
import type { Deployment } from './api.gen.ts';
import { isPassing } from './call-problem.ts';
import type { Answer, Client } from './client.ts';
import type { Context } from './context.ts';
import { deploymentById } from './lookup.ts';
import {
  FAILED,
  type Outcome,
  outcomeOf,
  outcomeOfDeletion,
  outcomeOfRevision,
  refusedChange,
} from './outcome.ts';
import { cell } from './table.ts';

/** Follows a deployment until it has settled, or until it is gone. */

const EVERY_MS = 1000;
/** Time for a last poll when the timeout expired before the first one. */
const LAST_POLL_MS = 5000;

/** How long to wait. */
interface Patience {
  readonly timeoutSeconds: number;
  /** When the wait began, as a time of `performance`. */
  readonly began: number;
}

/** The first condition that is not True, as a line. */
function waitsFor({ conditions }: Deployment): string {
  const waiting = conditions.find(({ type, status }) => status !== 'True' && type !== 'Progressing');
  return waiting === undefined ? '' : `${waiting.reason}: ${waiting.message}`;
}

const REVISION = '/v2/deployments/{deployment_id}/revisions/{revision_id}';
type Explanation = Answer<'get', `${typeof REVISION}/explain`>;

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

/** Whether the wait for a revision has ended. */
async function judge(
  client: Client,
  deployment: Deployment | null,
  awaited: string | null,
  signal: AbortSignal,
): Promise<Outcome | null> {
  const outcome = outcomeOf(deployment, awaited);
  const id = awaited ?? deployment?.latest_revision_id ?? null;
  if (outcome !== null || deployment === null || id === null) return outcome;
  const params = { path: { deployment_id: deployment.id, revision_id: id } };
  const { number, status } = await client.GET(REVISION, { params, signal });
  const refused = refusedChange(deployment, awaited);
  if (!FAILED.has(status) && refused === undefined)
    return outcomeOfRevision(deployment, { id, number, status });
  const why = await client.GET(`${REVISION}/explain`, { params, signal });
  const { summary, remedy } = why;
  const advice = remedy === null ? '' : `\n${cell(remedy.text)}`;
  const change = refused === undefined ? '' : `\n${refused.reason}: ${cell(refused.message)}`;
  const message = `revision ${number}: ${status}. ${cell(summary)}${source(why)}${change}${advice}`;
  return { end: 'failed', message, next: 'revisions explain' };
}

/** Result of one poll: the outcome of the watch, or what the deployment waits for. */
interface Poll {
  readonly outcome: Outcome | null;
  readonly line: string;
  /** False: the API did not give a usable response. */
  readonly hasAnswer: boolean;
}

/** What a watch waits for. */
interface Goal {
  judge(deployment: Deployment | null, signal: AbortSignal): Outcome | null | Promise<Outcome | null>;
  /** The next command after a timeout. */
  readonly next: string;
}

async function poll({ client }: Context, id: string, goal: Goal, signal: AbortSignal): Promise<Poll> {
  try {
    const deployment = await deploymentById(client, id, true, signal);
    const outcome = await goal.judge(deployment, signal);
    const line =
      deployment === null
        ? ''
        : `${cell(deployment.name)}: ${deployment.status}  ${cell(waitsFor(deployment))}`;
    return { outcome, line, hasAnswer: true };
  } catch (error) {
    if (!isPassing(error)) throw error;
    return { outcome: null, line: error.message, hasAnswer: false };
  }
}

/**
 * Prints each change until the goal is reached or cannot be reached any more, or until the timeout. Keeps polling while
 * the API is not available.
 */
async function follow(
  context: Context,
  id: string,
  { timeoutSeconds, began }: Patience,
  goal: Goal,
): Promise<Outcome> {
  const { next } = goal;
  const left = began + timeoutSeconds * 1000 - performance.now();
  const late = AbortSignal.timeout(Math.ceil(Math.max(left, Math.min(timeoutSeconds * 1000, LAST_POLL_MS))));
  const signal = AbortSignal.any([context.stopped, late]);
  let last: Poll = { outcome: null, line: 'no response from the API yet', hasAnswer: false };
  for (;;) {
    const seen = await poll(context, id, goal, signal);
    if (seen.outcome !== null) return seen.outcome;
    const note = seen.hasAnswer ? seen.line : `${seen.line}; still waiting`;
    // A call that the timeout aborted is not an outage, so the last response is kept.
    if (!signal.aborted) {
      if (seen.line !== last.line) context.note(note);
      last = seen;
    }
    if (context.stopped.aborted) return { end: 'failed', message: `stopped: ${last.line}`, next };
    if (signal.aborted) {
      const message = `timed out: not settled after ${timeoutSeconds} seconds: ${last.line}`;
      return { end: last.hasAnswer ? 'failed' : 'unknown', message, next };
    }
    await delay(EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}

/**
 * Waits until a revision serves or has failed. A deletion is a failure.
 * @param awaited the revision that must become active; null: the latest revision
 * @param began when the wait began, as a time of `performance`. Default: now
 * @throws ApiProblem when the API rejects a call
 */
export function watch(
  context: Context,
  id: string,
  timeoutSeconds: number,
  awaited: string | null = null,
  began = performance.now(),
): Promise<Outcome> {
  return follow(
    context,
    id,
    { timeoutSeconds, began },
    {
      judge: (deployment, signal) => judge(context.client, deployment, awaited, signal),
      next: 'deployments watch',
    },
  );
}

/**
 * Waits until a deployment is gone.
 * @throws ApiProblem when the API rejects a call
 */
export function watchDeletion(context: Context, id: string, timeoutSeconds: number): Promise<Outcome> {
  const deadline = new Date(Date.now() + timeoutSeconds * 1000);
  return follow(
    context,
    id,
    { timeoutSeconds, began: performance.now() },
    {
      judge: (deployment) => outcomeOfDeletion(deployment, deadline),
      next: 'deployments get',
    },
  );
}
