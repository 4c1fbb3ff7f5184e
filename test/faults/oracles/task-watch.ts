/** The watches of O9 (task-starts.ts). */

import { Reflector } from '../../../src/cluster/kube/cache/reflector.ts';
import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { RESOURCES, type Resource } from '../../../src/cluster/kube/client/resources.ts';
import { TASK_SELECTOR } from '../../../src/cluster/operator/tasks/task-caches.ts';
import type { FaultWorld } from '../world.ts';
import { StartRecord, startProblems, type TaskResult } from './task-starts.ts';

const SYNC_MS = 30_000;
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

const ROWS = `SELECT id, name, resource_uid, state, ended_at IS NOT NULL AS ended FROM tasks ORDER BY id`;

export interface TaskWatch {
  /** What has been seen since the last call of `clear`. */
  readonly record: StartRecord;
  clear(): void;
  /** One line for each violation. */
  problems(world: FaultWorld): Promise<string[]>;
  stop(): Promise<void>;
}

/** Watches from now on, for every task in the namespaces of this world. */
export async function watchTasks({ admin: client, namespace }: FaultWorld): Promise<TaskWatch> {
  const record = new StartRecord();
  const watched: [Resource, note: (object: never) => void, labelSelector?: string][] = [
    [RESOURCES.ManagedDeployment, (object) => record.noteDeployment(object)],
    [RESOURCES.DeploymentTask, (object) => record.noteTask(object)],
    [RESOURCES.Job, (object) => record.noteJob(object)],
    [RESOURCES.Pod, (object) => record.notePod(object), TASK_SELECTOR],
  ];
  const reflectors = watched.map(([resource, note, labelSelector]) => {
    const selector = labelSelector === undefined ? {} : { labelSelector };
    const options = { client, resource, namespace, logger: silent, ...selector };
    const reflector = new Reflector<UntypedObject>(options);
    reflector.addHandlers({
      added: (object) => note(object as never),
      updated: (object) => note(object as never),
    });
    reflector.start();
    return reflector;
  });
  await Promise.all(reflectors.map((reflector) => reflector.waitForSync(AbortSignal.timeout(SYNC_MS))));
  return {
    record,
    clear: () => record.clear(),
    problems: async (world) => startProblems(record, await world.sql<TaskResult>(ROWS)),
    stop: async () => void (await Promise.all(reflectors.map((reflector) => reflector.stop()))),
  };
}
