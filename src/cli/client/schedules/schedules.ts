import type { Deployment } from '../api.gen.ts';
import { type Context, show } from '../context.ts';
import { lookUpDeployment } from '../lookup.ts';
import { itemsOf } from '../paging.ts';
import { age, cell, table } from '../table.ts';
import { followTask, showTask } from '../tasks/run.ts';
import { TASKS, type Task } from '../tasks/tasks.ts';

/** `berth schedules …`. */

const RUN = '/v2/deployments/{deployment_id}/schedules/{schedule}/run';
type Schedule = NonNullable<Deployment['source_config']['schedules']>[number];

export interface RunScheduleOptions {
  readonly detach: boolean;
}

/** Number of tasks in which the last run of each schedule is searched. */
const SEARCHED = 500;

/** The newest run of each schedule. */
async function lastRuns({ client }: Context, id: string): Promise<Map<string, Task>> {
  const found = new Map<string, Task>();
  const path = { deployment_id: id };
  let searched = 0;
  for await (const task of itemsOf((query) => client.GET(TASKS, { params: { path, query } }))) {
    if (task.schedule !== null && !found.has(task.schedule)) found.set(task.schedule, task);
    searched += 1;
    if (searched === SEARCHED) break;
  }
  return found;
}

function schedulesTable(schedules: readonly Schedule[], runs: ReadonlyMap<string, Task>): string {
  const now = new Date();
  const rows = schedules.map((schedule) => {
    const run = runs.get(schedule.name);
    return [
      cell(schedule.name),
      cell(schedule.schedule),
      cell(schedule.time_zone ?? 'Etc/UTC'),
      schedule.suspend === true ? 'yes' : 'no',
      schedule.concurrency ?? 'forbid',
      run === undefined ? '-' : run.state,
      run === undefined ? '-' : age(run.created_at, now),
      cell(schedule.command.join(' ')),
    ];
  });
  const headings = [
    'NAME',
    'SCHEDULE',
    'TIME ZONE',
    'SUSPENDED',
    'CONCURRENCY',
    'LAST RUN',
    'AGE',
    'COMMAND',
  ];
  return table(headings, rows);
}

export async function listSchedules(context: Context, name: string): Promise<undefined> {
  const { id, source_config: config } = await lookUpDeployment(context.client, name, true);
  const resources = config.schedules ?? [];
  const runs = context.format === 'table' ? await lastRuns(context, id) : new Map<string, Task>();
  await show(
    context,
    { resources },
    { table: () => schedulesTable(resources, runs), names: () => resources.map((each) => each.name) },
  );
}

/** @throws ApiProblem */
export async function runSchedule(
  context: Context,
  name: string,
  schedule: string,
  { detach }: RunScheduleOptions,
): Promise<number> {
  const { id } = await lookUpDeployment(context.client, name, true);
  const created = await context.client.POST(RUN, {
    params: { path: { deployment_id: id, schedule } },
    body: {},
  });
  return detach ? showTask(context, created) : followTask(context, created);
}
