import { queryOptions } from '@tanstack/react-query';
import { read, type TenantApi } from '../api/client.ts';
import { deploymentKey } from '../api/keys.ts';
import { pagesOptions } from '../api/pages.ts';
import type { Task } from '../api/types.ts';
import type { TaskRequest } from './task-request.ts';
import { isFinal } from './task-state.ts';

/** What the pages of tasks request. */

/** The stream of changes reports the request and the end of a task, but not its start. */
export const POLL_MS = 2_000;

/** How often tasks are requested again. false: their states are final. */
const pollMs = (tasks: readonly Task[]): number | false =>
  tasks.every(({ state }) => isFinal(state)) ? false : POLL_MS;

/** The tasks of a deployment, newest first. */
export const tasksQuery = (api: TenantApi, deploymentId: string) => ({
  ...pagesOptions(deploymentKey(api.tenantId, deploymentId, 'tasks'), (query, signal) =>
    read(
      api.GET('/v2/deployments/{deployment_id}/tasks', {
        params: { path: { deployment_id: deploymentId }, query },
        signal,
      }),
    ),
  ),
  refetchInterval: ({ state: { data } }: TasksState) =>
    pollMs(data?.pages.flatMap(({ resources }) => resources) ?? []),
});

interface TasksState {
  readonly state: {
    readonly data: { readonly pages: readonly { readonly resources: readonly Task[] }[] } | undefined;
  };
}

export const taskQuery = (api: TenantApi, deploymentId: string, taskId: string) =>
  queryOptions({
    queryKey: deploymentKey(api.tenantId, deploymentId, 'task', taskId),
    queryFn: ({ signal }) => {
      const path = { deployment_id: deploymentId, task_id: taskId };
      return read(api.GET('/v2/deployments/{deployment_id}/tasks/{task_id}', { params: { path }, signal }));
    },
    refetchInterval: ({ state: { data } }) => (data === undefined ? false : pollMs([data])),
  });

/**
 * Runs a command.
 * @param key the same key runs the command once, even if the response was lost
 * @throws Problem
 */
export const runTask = (
  api: TenantApi,
  deploymentId: string,
  body: TaskRequest,
  key: string,
): Promise<Task> =>
  read<Task>(
    api.POST('/v2/deployments/{deployment_id}/tasks', {
      params: { path: { deployment_id: deploymentId }, header: { 'Idempotency-Key': key } },
      body: { ...body, command: [...body.command] },
    }),
  );

/**
 * Runs a schedule now.
 * @param key the same key runs it once, even if the response was lost
 * @throws Problem
 */
export const runSchedule = (
  api: TenantApi,
  deploymentId: string,
  schedule: string,
  key: string,
): Promise<Task> =>
  read<Task>(
    api.POST('/v2/deployments/{deployment_id}/schedules/{schedule}/run', {
      params: { path: { deployment_id: deploymentId, schedule }, header: { 'Idempotency-Key': key } },
      body: {},
    }),
  );

/** @throws Problem */
export const cancelTask = (api: TenantApi, { deployment_id, id }: Task): Promise<Task> =>
  read<Task>(
    api.POST('/v2/deployments/{deployment_id}/tasks/{task_id}/cancel', {
      params: { path: { deployment_id, task_id: id } },
      body: {},
    }),
  );
