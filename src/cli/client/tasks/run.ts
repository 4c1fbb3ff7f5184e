import { setTimeout as delay } from 'node:timers/promises';
import { ApiProblem, isPassing } from '../call-problem.ts';
import type { Answer, QueryOf } from '../client.ts';
import { type Context, show } from '../context.ts';
import { given } from '../given.ts';
import { harmless, showLines } from '../logs/log-output.ts';
import { findRevisionId, lookUpDeployment } from '../lookup.ts';
import { TASK, TASKS, type Task, taskTable } from './tasks.ts';

/** `berth run`. */

const LOGS = `${TASK}/logs` as const;
const CANCEL = `${TASK}/cancel` as const;

type Line = Answer<'get', typeof LOGS>['resources'][number];
type Query = QueryOf<'get', typeof LOGS>;

export interface RunOptions {
  readonly component?: Task['component'];
  readonly revision?: string;
  /** Seconds. */
  readonly timeout?: number;
  readonly detach: boolean;
}

/** Exit codes as of timeout(1) and of programs that start others. */
const CODES = { timedOut: 124, notRun: 125 } as const;
const POLL_MS = 1000;
/** Maximum number of consecutive failed calls before the command gives up. The task continues. */
const MAX_FAILURES = 10;
/** Maximum number of lines of the last read. */
const MAX_LINES = 10_000;
const CANCEL_MS = 10_000;

const FINAL: ReadonlySet<Task['state']> = new Set(['SUCCEEDED', 'FAILED', 'TIMED_OUT', 'CANCELLED']);

/** The exit code of the command for a task that has ended. */
export function exitCodeOf({ state, exit_code: code }: Pick<Task, 'state' | 'exit_code'>): number {
  if (state === 'SUCCEEDED') return 0;
  if (state === 'TIMED_OUT') return CODES.timedOut;
  return state === 'FAILED' && code !== null && code !== 0 ? code : CODES.notRun;
}

/**
 * Runs the command.
 * @throws UsageError, ApiProblem
 */
export async function runCommand(
  context: Context,
  name: string,
  command: readonly string[],
  { component, revision, timeout, detach }: RunOptions,
): Promise<number> {
  const { client } = context;
  const deployment = await lookUpDeployment(client, name, true);
  const revisionId = revision === undefined ? undefined : await findRevisionId(client, deployment, revision);
  const asked = given({ component, revision_id: revisionId, timeout_seconds: timeout });
  const created = await client.POST(TASKS, {
    params: { path: { deployment_id: deployment.id } },
    body: { command: [...command], ...asked },
  });
  return detach ? showTask(context, created) : followTask(context, created);
}

/** Prints a task, without waiting for its end. */
export async function showTask(context: Context, task: Task): Promise<number> {
  await show(context, task, { table: () => taskTable([task]), names: () => [task.id] });
  return 0;
}

/**
 * Prints the output of a task until it has ended. @returns its exit code
 * @throws ApiProblem
 */
export async function followTask(context: Context, created: Task): Promise<number> {
  const { stopped } = context;
  context.note(`task ${created.name}`);
  const output = new TaskOutput(context, created);
  const task = await untilEnd(context, created, () => output.start());
  await output.finish(task !== null);
  if (stopped.aborted) return cancelled(context, created);
  if (task === null)
    throw new ApiProblem(503, `the task ${created.name} may continue: the API does not respond`);
  const why = task.message === null ? '' : `: ${harmless(task.message)}`;
  context.note(`${task.state}${why}`);
  return exitCodeOf(task);
}

/** Waits until the task has ended. null: interrupted, or the API does not respond. */
async function untilEnd({ client, stopped }: Context, task: Task, onPod: () => void): Promise<Task | null> {
  const path = { deployment_id: task.deployment_id, task_id: task.id };
  for (let failures = 0; !stopped.aborted && failures < MAX_FAILURES; ) {
    await delay(POLL_MS, undefined, { signal: stopped }).catch(() => undefined);
    if (stopped.aborted) return null;
    try {
      const now = await client.GET(TASK, { params: { path } });
      failures = 0;
      if (FINAL.has(now.state)) return now;
      if (now.state === 'RUNNING') onPod();
    } catch (error) {
      if (!(error instanceof ApiProblem && isPassing(error))) throw error;
      failures += 1;
    }
  }
  return null;
}

/** The user has interrupted the command, so the task is cancelled. */
async function cancelled({ client, note }: Context, { id, deployment_id, name }: Task): Promise<number> {
  const path = { deployment_id, task_id: id };
  try {
    // The signal of the client has fired.
    await client.POST(CANCEL, { params: { path }, body: {}, signal: AbortSignal.timeout(CANCEL_MS) });
    note(`the task ${name} is being cancelled`);
  } catch {
    note(`failed to cancel the task ${name}: it may continue`);
  }
  return CODES.notRun;
}

/** Prints the output of a task: the lines of a stream while it runs, and the lines that the stream lacks at its end. */
class TaskOutput {
  readonly #context: Context;
  readonly #path: { deployment_id: string; task_id: string };
  readonly #ending = new AbortController();
  /** The last printed line of each container. */
  readonly #last = new Map<string, string>();
  #stream: Promise<void> | undefined;

  constructor(context: Context, { id, deployment_id }: Task) {
    this.#context = context;
    this.#path = { deployment_id, task_id: id };
  }

  /** Begins to print the output. */
  start(): void {
    this.#stream ??= this.#follow();
  }

  async #follow(): Promise<void> {
    const { client, stopped } = this.#context;
    const signal = AbortSignal.any([stopped, this.#ending.signal]);
    while (!signal.aborted) {
      try {
        const query: Query = { follow: true, limit: MAX_LINES };
        const lines = client.lines(LOGS, { params: { path: this.#path, query }, signal });
        await showLines(this.#context, this.#fresh(lines), asText);
      } catch {
        // The lines are requested again, and once more at the end.
      }
      await delay(POLL_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /** The lines that were not printed yet. */
  async *#fresh(lines: AsyncIterable<unknown> | Iterable<unknown>): AsyncGenerator<unknown> {
    const before = new Map(this.#last);
    for await (const line of lines) {
      const { at, pod, container } = line as Partial<Line>;
      if (at === undefined) return;
      const key = `${pod}/${container}`;
      if (at <= (before.get(key) ?? '')) continue;
      this.#last.set(key, at);
      yield line;
    }
  }

  /** Ends the stream, and prints the rest of the output of a task that has ended. */
  async finish(isOver: boolean): Promise<void> {
    this.#ending.abort();
    await this.#stream;
    if (!isOver || this.#context.stopped.aborted) return;
    try {
      const query: Query = { limit: MAX_LINES };
      const { resources } = await this.#context.client.GET(LOGS, { params: { path: this.#path, query } });
      await showLines(this.#context, this.#fresh(resources), asText);
    } catch (error) {
      if (!(error instanceof ApiProblem)) throw error;
      this.#context.note(`failed to read the last lines of the output: ${error.message}`);
    }
  }
}

function asText(line: unknown): string {
  const { container, text } = line as Line;
  return container === 'app' ? text : `${container} | ${text}`;
}
