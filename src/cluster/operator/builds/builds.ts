import type { BuildConfig } from '../../../contract/render/build-config.ts';
import type { BuildStatus } from '../../../contract/resource/build.ts';
import { systemClock } from '../../kube/client/clock.ts';
import { runWorkers } from '../../kube/queue/controller.ts';
import { WorkQueue } from '../../kube/queue/work-queue.ts';
import type { CacheHealth, Caches } from '../observe/caches.ts';
import type { ObservedResource } from '../observed.ts';
import type { OperatorOptions } from '../operator.ts';
import { BuildCaches } from './build-caches.ts';
import { BuildController } from './build-controller.ts';

/** The builds of one leader term: caches, controller and queue. */

export interface Builds {
  start(): void;
  waitForSync(signal: AbortSignal): Promise<void>;
  /** Runs until the term ends; resolves when all work has stopped. */
  run(term: AbortSignal, abort: AbortSignal): Promise<void>;
  statusOf(resource: ObservedResource): BuildStatus | undefined;
  /** Queue of build reconciles. */
  readonly queue: WorkQueue;
  stats(): CacheHealth[];
  stop(): Promise<void>;
}

/** The only key of the queue, because one reconcile covers all builds. */
const ALL = 'builds';
/** Period in which several events cause one reconcile. */
const GATHER_MS = 50;

export function createBuilds(
  { client, namespaces, logger, hooks, clock = systemClock }: OperatorOptions,
  config: BuildConfig,
  { caches, queue, isLeader }: { caches: Caches; queue: WorkQueue; isLeader: () => boolean },
): Builds {
  const buildCaches = new BuildCaches({ client, namespace: config.namespace, namespaces, logger });
  const buildQueue = new WorkQueue({ clock });
  const wake = () => buildQueue.addAfter(ALL, GATHER_MS);
  const controller = new BuildController({
    client,
    config,
    caches: buildCaches,
    resources: caches,
    changed: (key) => queue.add(key),
    mayAct: isLeader,
    clock,
    logger,
  });
  caches.onResourceChange(wake);
  buildCaches.onChange((key) => {
    wake();
    queue.add(key);
  });
  return {
    start: () => buildCaches.start(),
    waitForSync: (signal) => buildCaches.waitForSync(signal),
    run: (term, abort) =>
      runWorkers({
        queue: buildQueue,
        reconcile: (_, signal) => controller.reconcile(signal),
        workers: 1,
        logger,
        signal: term,
        abort,
        ...(hooks?.onBuilds === undefined ? {} : { onOutcome: hooks.onBuilds }),
      }),
    statusOf: (resource) => controller.statusOf(resource),
    queue: buildQueue,
    stats: () => buildCaches.stats(),
    stop: () => buildCaches.stop(),
  };
}
