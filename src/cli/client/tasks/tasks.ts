import { ApiProblem } from '../call-problem.ts';
import type { Answer } from '../client.ts';
import { type Context, show } from '../context.ts';
import { showLines } from '../logs/log-output.ts';
import { lookUpDeployment, UUID } from '../lookup.ts';
import { itemsOf } from '../paging.ts';
import { age, cell, quoted, table } from '../table.ts';

/** `berth tasks …`. */

export const TASKS = '/v2/deployments/{deployment_id}/tasks';
export const TASK = `${TASKS}/{task_id}` as const;
export type Task = Answer<'get', typeof TASK>;

const tasksOf = ({ client }: Context, deploymentId: string) =>
  itemsOf((query) => client.GET(TASKS, { params: { path: { deployment_id: deploymentId }, query } }));

/** Tasks as a table. */
export function taskTable(tasks: readonly Task[]): string {
  const now = new Date();
  const rows = tasks.map((task) => [
    cell(task.name),
    task.state,
    cell(task.exit_code),
    cell(task.reason),
    cell(task.revision_number),
    task.component,
    age(task.created_at, now),
    cell(task.created_by.name),
    cell(task.command.join(' ')),
  ]);
  const headings = ['NAME', 'STATE', 'EXIT', 'REASON', 'REVISION', 'COMPONENT', 'AGE', 'BY', 'COMMAND'];
  return table(headings, rows);
}

export async function listTasks(context: Context, name: string): Promise<undefined> {
  const { id } = await lookUpDeployment(context.client, name, true);
  const resources: Task[] = [];
  for await (const task of tasksOf(context, id)) resources.push(task);
  await show(
    context,
    { resources },
    { table: () => taskTable(resources), names: () => resources.map((task) => task.id) },
  );
}

/** The task with an id or name. @throws ApiProblem */
async function findTask(context: Context, name: string, word: string): Promise<Task> {
  const { id } = await lookUpDeployment(context.client, name, true);
  if (UUID.test(word))
    return context.client.GET(TASK, { params: { path: { deployment_id: id, task_id: word } } });
  for await (const task of tasksOf(context, id)) if (task.name === word) return task;
  throw new ApiProblem(404, `404: the deployment has no task "${word}"`, `berth tasks list ${quoted(name)}`);
}

export async function getTask(context: Context, name: string, word: string): Promise<undefined> {
  const task = await findTask(context, name, word);
  await show(context, task, { table: () => taskTable([task]), names: () => [task.id] });
  if (context.format === 'table' && task.message !== null) context.note(cell(task.message));
}

export async function printLogs(context: Context, name: string, word: string): Promise<undefined> {
  const { id, deployment_id } = await findTask(context, name, word);
  const path = { deployment_id, task_id: id };
  const { resources, end } = await context.client.GET(`${TASK}/logs`, { params: { path } });
  await showLines(context, resources, (line) => (line as { text: string }).text);
  context.note(end);
}

export async function cancelTask(context: Context, name: string, word: string): Promise<undefined> {
  const { id, deployment_id } = await findTask(context, name, word);
  const path = { deployment_id, task_id: id };
  const task = await context.client.POST(`${TASK}/cancel`, { params: { path }, body: {} });
  await show(context, task, { table: () => taskTable([task]), names: () => [task.id] });
}
