import { expect } from 'vitest';
import { waitFor } from '../../cluster/wait.ts';
import { smallDeployment, type WholeBerth } from './berth.ts';

/** Tasks of a deployment, through the API. */

export interface Task {
  id: string;
  name: string;
  state: string;
  reason: string | null;
  exit_code: number | null;
  origin: string;
  revision_number: number | null;
  command: string[];
  created_by: { kind: string; name: string | null };
  started_at: string | null;
  ended_at: string | null;
}

/** Creates a deployment without database and cache, and waits until it serves. @returns its id */
export async function createTaskDeployment(berth: WholeBerth): Promise<string> {
  const body = smallDeployment('shop') as { source_config: object };
  const off = { database: { enabled: false }, cache: { enabled: false } };
  const { id } = await berth.create({ ...body, source_config: { ...body.source_config, ...off } });
  await berth.ready(id);
  return id;
}

/** Calls for the tasks of a deployment. */
export function taskCalls(berth: WholeBerth, deploymentId: string) {
  const path = (rest = '') => `/v2/deployments/${deploymentId}/tasks${rest}`;
  const read = async (task: string) => (await berth.call<Task>('GET', path(`/${task}`))).body;
  return {
    path,
    read,
    run: async (...command: string[]): Promise<Task> => {
      const { status, body } = await berth.call<Task>('POST', path(), { command });
      expect(status, JSON.stringify(body)).toBe(201);
      return body;
    },
    /** Waits until the task has one of the states. */
    until: (task: string, ...states: string[]) =>
      waitFor(
        `task ${task} to be ${states.join(' or ')}`,
        async () => {
          const found = await read(task);
          return states.includes(found.state) ? found : undefined;
        },
        { timeoutMs: 60_000, intervalMs: 100 },
      ),
  };
}
