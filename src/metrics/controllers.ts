import { Counter, Histogram, type Registry } from 'prom-client';
import { isKubeError } from '../cluster/kube/client/errors.ts';
import type { ReconcileOutcome } from '../cluster/kube/queue/controller.ts';
import type { QueueObserver } from '../cluster/kube/queue/queue-observer.ts';
import type { WorkQueue } from '../cluster/kube/queue/work-queue.ts';
import { gaugeOf } from './collect-on-scrape.ts';

/**
 * Defines the metrics of work queues and reconciles. Names, labels and label values have the meaning that they have in
 * client-go and controller-runtime, so that existing dashboards work.
 */

/**
 * The controllers: `manageddeployment` and `build` of the operator, `work` (work items) of the listener. The name is the
 * label `controller` of reconciles and the label `name` of queues, as in controller-runtime.
 */
export type Controller = 'manageddeployment' | 'build' | 'work';

export type ObservedQueue = Pick<
  WorkQueue,
  'depth' | 'delayed' | 'processing' | 'failing' | 'oldestAgeMs' | 'runningMs' | 'observe'
>;

const QUEUE_BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1000];
const RECONCILE_BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60];

/** Results of a reconcile, as in controller-runtime. */
const RESULTS = ['success', 'error', 'requeue', 'requeue_after'] as const;
type Result = (typeof RESULTS)[number];

/** A conflict is not an error, because the object has changed since it was read. It is retried with a rate limit. */
function resultOf(outcome: ReconcileOutcome): Result {
  switch (outcome.kind) {
    case 'settled':
      return 'success';
    case 'requeue':
      return 'requeue_after';
    case 'terminal':
      return 'error';
    case 'retry':
      return isKubeError(outcome.error, 'conflict') ? 'requeue' : 'error';
  }
}

/** Registers the gauges of queues, which are read on scrape. */
function queueGauges(registry: Registry, queues: ReadonlyMap<Controller, ObservedQueue>): void {
  const gauge = <Label extends string>(
    name: string,
    help: string,
    label: Label,
    measure: (queue: ObservedQueue) => number,
  ) =>
    gaugeOf({
      name,
      help,
      labels: [label],
      registry,
      read: () =>
        [...queues].map(([controller, queue]) => ({
          labels: { [label]: controller } as Record<Label, string>,
          value: measure(queue),
        })),
    });
  gauge('workqueue_depth', 'Keys that wait for a worker.', 'name', ({ depth }) => depth);
  gauge(
    'workqueue_unfinished_work_seconds',
    'Seconds for which workers have processed the keys that they have now, in total. High values indicate stuck workers.',
    'name',
    ({ runningMs }) => runningMs.reduce((sum, ms) => sum + ms, 0) / 1000,
  );
  gauge(
    'workqueue_longest_running_processor_seconds',
    'Seconds for which the slowest worker has processed the key that it has now.',
    'name',
    ({ runningMs }) => Math.max(0, ...runningMs) / 1000,
  );
  gauge(
    'controller_runtime_active_workers',
    'Workers that are reconciling a key.',
    'controller',
    ({ processing }) => processing,
  );
  gauge(
    'berth_workqueue_delayed',
    'Keys whose next reconcile is scheduled.',
    'name',
    ({ delayed }) => delayed,
  );
  gauge(
    'berth_reconcile_failing_keys',
    'Keys whose last reconcile failed and will be retried.',
    'controller',
    ({ failing }) => failing,
  );
  gaugeOf({
    name: 'berth_workqueue_oldest_timestamp_seconds',
    help: 'Time since which the oldest key in the queue has waited for a worker. Absent: no key waits.',
    labels: ['name'],
    registry,
    read: () =>
      [...queues]
        .filter(([, { depth }]) => depth > 0)
        .map(([name, { oldestAgeMs }]) => ({ labels: { name }, value: (Date.now() - oldestAgeMs) / 1000 })),
  });
}

/** @returns the observer of the queue of a controller */
function queueMetrics(registry: Registry): (controller: Controller) => QueueObserver {
  const registers: [Registry] = [registry];
  const labelNames = ['name'] as const;
  const adds = new Counter({
    name: 'workqueue_adds_total',
    help: 'Keys that were added to the queue.',
    labelNames,
    registers,
  });
  const retries = new Counter({
    name: 'workqueue_retries_total',
    help: 'Keys that were scheduled to be added later, after a failure or at a planned time.',
    labelNames,
    registers,
  });
  const waits = new Histogram({
    name: 'workqueue_queue_duration_seconds',
    help: 'Seconds for which a key waited in the queue for a worker.',
    labelNames,
    buckets: QUEUE_BUCKETS,
    registers,
  });
  const work = new Histogram({
    name: 'workqueue_work_duration_seconds',
    help: 'Seconds for which a worker processed a key.',
    labelNames,
    buckets: QUEUE_BUCKETS,
    registers,
  });
  return (name) => {
    const added = adds.labels({ name });
    const retried = retries.labels({ name });
    const waited = waits.labels({ name });
    const worked = work.labels({ name });
    // Prometheus detects no increase in a series that starts at 1.
    added.inc(0);
    retried.inc(0);
    return {
      added: () => added.inc(),
      retried: () => retried.inc(),
      handedOut: (ms) => waited.observe(ms / 1000),
      done: (ms) => worked.observe(ms / 1000),
    };
  };
}

/** @returns the observer of the reconciles of a controller */
export function reconcileMetrics(
  registry: Registry,
): (controller: Controller) => (result: { outcome: ReconcileOutcome; durationMs: number }) => void {
  const registers: [Registry] = [registry];
  const total = new Counter({
    name: 'controller_runtime_reconcile_total',
    help:
      'Reconciles by result: success, error (retried, or terminal until the object changes), requeue (retried, ' +
      'because the object changed during the reconcile), requeue_after (another reconcile is scheduled).',
    labelNames: ['controller', 'result'],
    registers,
  });
  const errors = new Counter({
    name: 'controller_runtime_reconcile_errors_total',
    help: 'Reconciles that failed, including terminal errors.',
    labelNames: ['controller'],
    registers,
  });
  const terminal = new Counter({
    name: 'controller_runtime_terminal_reconcile_errors_total',
    help: 'Reconciles that failed and are not retried until the object changes.',
    labelNames: ['controller'],
    registers,
  });
  const seconds = new Histogram({
    name: 'controller_runtime_reconcile_time_seconds',
    help: 'Duration of reconciles in seconds, including API calls.',
    labelNames: ['controller'],
    buckets: RECONCILE_BUCKETS,
    registers,
  });
  return (controller) => {
    for (const result of RESULTS) total.inc({ controller, result }, 0);
    for (const counter of [errors, terminal]) counter.inc({ controller }, 0);
    return ({ outcome, durationMs }) => {
      const result = resultOf(outcome);
      total.inc({ controller, result });
      if (result === 'error') errors.inc({ controller });
      if (outcome.kind === 'terminal') terminal.inc({ controller });
      seconds.observe({ controller }, durationMs / 1000);
    };
  };
}

/** The queues of the current leadership terms. */
export interface QueueRegistration {
  /** Exports the queue instead of the previous queue of the controller. */
  set(controller: Controller, queue: ObservedQueue): void;
  /** Ends the export of the gauges of a queue. Counters and histograms remain. */
  drop(controller: Controller): void;
}

export function registerQueues(registry: Registry): QueueRegistration {
  const queues = new Map<Controller, ObservedQueue>();
  queueGauges(registry, queues);
  const observerOf = queueMetrics(registry);
  return {
    set(controller, queue) {
      queue.observe(observerOf(controller));
      queues.set(controller, queue);
    },
    drop: (controller) => void queues.delete(controller),
  };
}
