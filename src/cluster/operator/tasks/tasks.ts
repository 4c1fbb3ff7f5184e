import { DEPLOYMENT_TASK } from '../../../contract/resource/definition.ts';
import type { ManagedDeploymentStatus } from '../../../contract/resource/managed-deployment.ts';
import { resolvePolicy } from '../../../domain/policy/policy.ts';
import { sleep, systemClock } from '../../kube/client/clock.ts';
import { hasResource } from '../../kube/client/discovery.ts';
import { runWorkers } from '../../kube/queue/controller.ts';
import { WorkQueue } from '../../kube/queue/work-queue.ts';
import type { CacheHealth, Caches } from '../observe/caches.ts';
import type { OperatorOptions } from '../operator.ts';
import { createSchedules, type Schedules } from '../schedules/schedules.ts';
import { no } from '../status/conditions.ts';
import { NO_TASKS, type TaskResource } from './observed-task.ts';
import { TaskCaches } from './task-caches.ts';
import { TaskController } from './task-controller.ts';

/** The tasks of one leader term: caches, controller and queue. */

export interface Tasks {
  /** Runs until the term ends; resolves when all work has stopped. Waits for the custom resource if the cluster lacks it. */
  run(term: AbortSignal, abort: AbortSignal): Promise<void>;
  /** The schedules, whose runs are tasks. */
  readonly schedules: Pick<Schedules, 'findingOf' | 'reconciled'>;
  /** The tasks of releases, for the reconciles of their deployments. */
  readonly releases: ReleaseTasks;
  /** Queue of task reconciles. */
  readonly queue: WorkQueue;
  stats(): CacheHealth[];
}

/** The tasks of a deployment with a release command. */
export interface ReleaseTasks {
  /** null: they are not known yet, or the cluster has no tasks. The deployment is reconciled again when they are known. */
  tasksOf(deploymentKey: string): TaskResource[] | null;
  /** The task of this key, of any deployment; undefined: it does not exist, or this version cannot parse it. */
  task(key: string): TaskResource | undefined;
  /** Whether the cluster was observed to have no definition of tasks. */
  isMissing(): boolean;
}

/** Concurrent reconciles of tasks, and those of one tenant. */
const TASK_WORKERS = 8;
const MAX_WORKERS_OF_TENANT = 3;
/** Interval of the check whether the custom resource exists. */
const DISCOVERY_MS = 30_000;

export function createTasks(
  options: OperatorOptions,
  {
    caches,
    isLeader,
    deployments,
  }: { caches: Caches; isLeader: () => boolean; deployments: Pick<WorkQueue, 'add'> },
): Tasks {
  const { client, namespaces, config, policy, logger, discoveryMs, clock = systemClock } = options;
  const queue = new WorkQueue({
    tenantOf: (key) => key.slice(0, key.indexOf('/')),
    perTenant: MAX_WORKERS_OF_TENANT,
    clock,
  });
  const taskCaches = new TaskCaches({ client, namespaces, logger });
  const controller = new TaskController({
    client,
    caches: taskCaches,
    view: caches,
    policy: policy ?? resolvePolicy(config.hosting),
    mayAct: isLeader,
    clock,
    logger,
  });
  const schedules = createSchedules(options, { caches, taskCaches, isLeader, deployments });
  taskCaches.onChange((key) => queue.add(key));
  caches.onChange((key) => {
    for (const task of taskCaches.keysOf(key)) queue.add(task);
  });
  // The Job of a release starts when the status has its uid.
  caches.onOwnStatus((resource) => {
    const { release } = (resource as { status?: ManagedDeploymentStatus }).status ?? {};
    if (release !== undefined && release.succeeded !== true)
      queue.add(`${resource.metadata.namespace}/${release.task}`);
  });
  taskCaches.onRelease((key) => deployments.add(key));
  let isStarted = false;
  let isSynced = false;
  let isMissing = false;
  /** Deployments that need their tasks before they are known. */
  const waiting = new Set<string>();

  function noteMissing(): void {
    if (isMissing) return;
    isMissing = true;
    // Their status names what is missing.
    for (const key of waiting) deployments.add(key);
  }

  /** Waits until the cluster has the custom resource. An operator without it works, but runs no tasks. */
  async function waitForDefinition(term: AbortSignal): Promise<void> {
    const { apiVersion, plural, group } = DEPLOYMENT_TASK;
    for (let hasWarned = false; !term.aborted; hasWarned = true) {
      const found = await hasResource(client, apiVersion, plural, term).catch(() => null);
      if (found === true || term.aborted) return;
      if (found === false) noteMissing();
      logger[hasWarned ? 'debug' : 'warn'](
        {},
        `the cluster has no ${plural}.${group}, so no tasks run; next: kubectl apply --server-side -f crds/`,
      );
      await sleep(clock, discoveryMs ?? DISCOVERY_MS, term);
    }
  }

  return {
    run: async (term, abort) => {
      await waitForDefinition(term);
      if (term.aborted) return;
      taskCaches.start();
      isStarted = true;
      try {
        await taskCaches.waitForSync(term);
        if (term.aborted) return;
        isSynced = true;
        isMissing = false;
        for (const key of waiting) deployments.add(key);
        await Promise.all([
          schedules.run(term, abort),
          runWorkers({
            queue,
            reconcile: (key, signal) => controller.reconcile(key, signal),
            workers: TASK_WORKERS,
            logger,
            signal: term,
            abort,
          }),
        ]);
      } finally {
        await taskCaches.stop();
      }
    },
    schedules: {
      reconciled: schedules.reconciled,
      findingOf: (key) => {
        if (isSynced) return schedules.findingOf(key);
        const spec = caches.resource(key)?.['spec'] as { schedules?: object[] } | undefined;
        if (spec?.schedules !== undefined) waiting.add(key);
        return isMissing ? no('TasksUnavailable', `no schedule runs: ${NO_TASKS}`) : null;
      },
    },
    releases: {
      tasksOf: (key) => {
        if (isSynced) return taskCaches.tasksOf(key);
        waiting.add(key);
        return null;
      },
      task: (key) => taskCaches.task(key) ?? undefined,
      isMissing: () => isMissing,
    },
    queue,
    stats: () => (isStarted ? [...taskCaches.stats(), ...schedules.stats()] : []),
  };
}
