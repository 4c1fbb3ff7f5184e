import { resolvePolicy } from '../../../domain/policy/policy.ts';
import { systemClock } from '../../kube/client/clock.ts';
import { runWorkers } from '../../kube/queue/controller.ts';
import { WorkQueue } from '../../kube/queue/work-queue.ts';
import type { CacheHealth, Caches } from '../observe/caches.ts';
import type { OperatorOptions } from '../operator.ts';
import type { Finding } from '../status/conditions.ts';
import type { TaskCaches } from '../tasks/task-caches.ts';
import { ScheduleCaches } from './schedule-caches.ts';
import { ScheduleController } from './schedule-controller.ts';

/** The schedules of one leader term: cache, controller and queue. */

export interface Schedules {
  /** Runs until the term ends. The caches of tasks must be filled. */
  run(term: AbortSignal, abort: AbortSignal): Promise<void>;
  /** The condition SchedulesHealthy of a deployment; null: it is not known in this process. */
  findingOf(deploymentKey: string): Finding | null;
  /** Called when a deployment was reconciled. Its status may have another active revision. */
  reconciled(deploymentKey: string): void;
  readonly queue: WorkQueue;
  stats(): CacheHealth[];
}

/** Concurrent reconciles of schedules, and those of one tenant. */
const WORKERS = 4;
const MAX_WORKERS_OF_TENANT = 2;
/** Period in which several events cause one reconcile. */
const GATHER_MS = 50;

export function createSchedules(
  { client, namespaces, config, policy, logger, clock = systemClock }: OperatorOptions,
  {
    caches,
    taskCaches,
    isLeader,
    deployments,
  }: {
    caches: Caches;
    taskCaches: TaskCaches;
    isLeader: () => boolean;
    deployments: Pick<WorkQueue, 'add'>;
  },
): Schedules {
  const queue = new WorkQueue({
    tenantOf: (key) => key.slice(0, key.indexOf('/')),
    perTenant: MAX_WORKERS_OF_TENANT,
    clock,
  });
  const scheduleCaches = new ScheduleCaches({ client, namespaces, logger });
  const controller = new ScheduleController({
    client,
    caches: scheduleCaches,
    taskCaches,
    view: caches,
    policy: policy ?? resolvePolicy(config.hosting),
    mayAct: isLeader,
    logger,
    changed: (key) => deployments.add(key),
  });
  const wake = (key: string) => queue.addAfter(key, GATHER_MS);
  scheduleCaches.onChange(wake);
  taskCaches.onRunChange(wake);
  const reconciled = (key: string) => {
    if (controller.concerns(key)) wake(key);
  };
  caches.onChange(reconciled);
  let isStarted = false;

  return {
    run: async (term, abort) => {
      scheduleCaches.start();
      isStarted = true;
      try {
        await scheduleCaches.waitForSync(term);
        if (term.aborted) return;
        await runWorkers({
          queue,
          reconcile: (key, signal) => controller.reconcile(key, signal),
          workers: WORKERS,
          logger,
          signal: term,
          abort,
        });
      } finally {
        await scheduleCaches.stop();
      }
    },
    findingOf: (key) => controller.findingOf(key),
    reconciled,
    queue,
    stats: () => (isStarted ? scheduleCaches.stats() : []),
  };
}
