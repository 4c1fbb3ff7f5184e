import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { ReflectorStats } from '../cluster/kube/cache/reflector-options.ts';
import type { ObservedRequest } from '../cluster/kube/client/client-types.ts';
import { isKubeError } from '../cluster/kube/client/errors.ts';
import type { ReconcileOutcome } from '../cluster/kube/queue/controller.ts';
import type { WorkQueue } from '../cluster/kube/queue/work-queue.ts';
import { counterOf, gaugeOf, type Sample } from './collect-on-scrape.ts';

/** Defines the metrics of the roles that work in a cluster: operator and listener. */

/** The role that calls the cluster. */
export type ClusterRole = 'operator' | 'listener';
/** The owner of a queue: `resources` and `builds` of the operator, `work` of the listener. */
export type Controller = 'resources' | 'builds' | 'work';
const CONTROLLERS: Readonly<Record<ClusterRole, readonly Controller[]>> = {
  operator: ['resources', 'builds'],
  listener: ['work'],
};

type Queue = Pick<WorkQueue, 'depth' | 'delayed' | 'processing' | 'failing' | 'oldestAgeMs'>;

/** A cache with its health. With several namespaces, one kind has several caches. */
export interface WatchStats {
  readonly kind: string;
  readonly stats: ReflectorStats;
}

export interface ClusterMetrics {
  /** Counts the calls of a role to its API server. */
  requests(role: ClusterRole): (request: ObservedRequest) => void;
  /** Counts reconciles by outcome. */
  reconciles(controller: Controller): (result: { outcome: ReconcileOutcome; durationMs: number }) => void;
  /** Sets the queue of this leadership term and drops the previous queue. */
  queue(controller: Controller, queue: Queue): void;
  /** Sets the caches of this leadership term and drops the previous caches. */
  watches(role: ClusterRole, stats: () => readonly WatchStats[]): void;
  /**
   * Sets whether this process is active. When the process becomes inactive, the queues and caches of the ended term are
   * dropped.
   */
  leading(role: ClusterRole, leads: boolean): void;
  /** Counts a change in the cluster by its kind. */
  action(kind: string): void;
}

const CALL_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15];
const RECONCILE_BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60];

const OUTCOMES = ['settled', 'requeue', 'retry', 'conflict', 'terminal'] as const;

/** A conflict is not a failure: the object has changed since it was read. */
const outcomeOf = (outcome: ReconcileOutcome): (typeof OUTCOMES)[number] =>
  outcome.kind === 'retry' && isKubeError(outcome.error, 'conflict') ? 'conflict' : outcome.kind;

function queueGauges(registry: Registry, queues: ReadonlyMap<Controller, Queue>): void {
  const each = (measure: (queue: Queue) => number) => () =>
    [...queues].map(([controller, queue]) => ({ labels: { controller }, value: measure(queue) }));
  const gauge = (name: string, help: string, measure: (queue: Queue) => number) =>
    gaugeOf({ name, help, labels: ['controller'], registry, read: each(measure) });
  gauge('berth_queue_depth', 'Keys that wait for a worker.', ({ depth }) => depth);
  gauge(
    'berth_queue_oldest_seconds',
    'Seconds for which the oldest key in the queue has waited. 0: the queue is empty.',
    ({ oldestAgeMs }) => oldestAgeMs / 1000,
  );
  gauge('berth_queue_processing', 'Keys that a worker is reconciling.', ({ processing }) => processing);
  gauge('berth_queue_delayed', 'Keys whose next reconcile is scheduled.', ({ delayed }) => delayed);
  gauge(
    'berth_queue_failing',
    'Keys whose last reconcile failed and will be retried.',
    ({ failing }) => failing,
  );
}

type StatsByRole = ReadonlyMap<ClusterRole, () => readonly WatchStats[]>;

function watchMetrics(registry: Registry, caches: StatsByRole): void {
  const perKind = (fold: (all: readonly ReflectorStats[]) => number) => (): Sample<'role' | 'kind'>[] =>
    [...caches].flatMap(([role, read]) =>
      [...Map.groupBy(read(), ({ kind }) => kind)].map(([kind, watches]) => ({
        labels: { role, kind },
        value: fold(watches.map(({ stats }) => stats)),
      })),
    );
  const labels = ['role', 'kind'] as const;
  gaugeOf({
    name: 'berth_watch_objects',
    help: 'Objects in the cache.',
    labels,
    registry,
    read: perKind((all) => all.reduce((sum, { objects }) => sum + objects, 0)),
  });
  gaugeOf({
    name: 'berth_watch_last_sign_seconds',
    help:
      'Age in seconds of the last list, event or bookmark of a cache, or of the cache itself if the cache has ' +
      'received no data. With several namespaces, the highest value. The API server sends a bookmark about once a ' +
      'minute.',
    labels,
    registry,
    read: perKind((all) => {
      const heard = all.map(({ lastEventAt, since }) => (lastEventAt ?? since).getTime());
      return Math.max(0, Date.now() - Math.min(...heard)) / 1000;
    }),
  });
  gaugeOf({
    name: 'berth_watch_failing',
    help: 'Watches that are currently failing, one for each namespace.',
    labels,
    registry,
    read: perKind((all) => all.filter(({ lastError }) => lastError !== undefined).length),
  });
  counterOf({
    name: 'berth_watch_lists_total',
    help: 'Full lists, that is, the first list of each cache, and lists after a watch that could not resume.',
    labels,
    registry,
    read: perKind((all) => all.reduce((sum, { lists }) => sum + lists, 0)),
  });
  counterOf({
    name: 'berth_watch_restarts_total',
    help:
      'Watches that ended, by cause: ended (regularly by the server), gone (the resource version was too old, ' +
      'and a full list follows), or the kind of the error.',
    labels: ['role', 'kind', 'cause'],
    registry,
    read: () => restartsOf(caches),
  });
}

function restartsOf(caches: StatsByRole): Sample<'role' | 'kind' | 'cause'>[] {
  return [...caches].flatMap(([role, read]) =>
    read().flatMap(({ kind, stats }) =>
      Object.entries(stats.restarts).map(([cause, value]) => ({ labels: { role, kind, cause }, value })),
    ),
  );
}

function requestMetrics(registry: Registry): ClusterMetrics['requests'] {
  const requests = new Counter({
    name: 'berth_kube_requests_total',
    help: 'Calls to the API server by verb, resource and HTTP status. 0: no response.',
    labelNames: ['role', 'verb', 'resource', 'code'],
    registers: [registry],
  });
  const seconds = new Histogram({
    name: 'berth_kube_request_duration_seconds',
    help: 'Duration of calls to the API server in seconds. For a watch, the time until it is established.',
    labelNames: ['role', 'verb'],
    buckets: CALL_BUCKETS,
    registers: [registry],
  });
  return (role) =>
    ({ verb, resource, status, durationMs }) => {
      requests.inc({ role, verb, resource, code: String(status) });
      seconds.observe({ role, verb }, durationMs / 1000);
    };
}

function reconcileMetrics(registry: Registry): ClusterMetrics['reconciles'] {
  const reconciles = new Counter({
    name: 'berth_reconciles_total',
    help:
      'Reconciles by outcome: settled, requeue (another reconcile is scheduled), retry (failed, may succeed ' +
      'later), conflict (the object changed during the reconcile), terminal (fails until the object changes).',
    labelNames: ['controller', 'outcome'],
    registers: [registry],
  });
  const seconds = new Histogram({
    name: 'berth_reconcile_duration_seconds',
    help: 'Duration of reconciles in seconds, including API calls.',
    labelNames: ['controller'],
    buckets: RECONCILE_BUCKETS,
    registers: [registry],
  });
  return (controller) => {
    for (const outcome of OUTCOMES) reconciles.inc({ controller, outcome }, 0);
    return ({ outcome, durationMs }) => {
      reconciles.inc({ controller, outcome: outcomeOf(outcome) });
      seconds.observe({ controller }, durationMs / 1000);
    };
  };
}

export function clusterMetrics(registry: Registry): ClusterMetrics {
  const queues = new Map<Controller, Queue>();
  const caches = new Map<ClusterRole, () => readonly WatchStats[]>();
  queueGauges(registry, queues);
  watchMetrics(registry, caches);
  const leading = new Gauge({
    name: 'berth_leading',
    help:
      '1: this process is active (operator: elected leader, listener: holds the lease of the hub). 0: this ' +
      'process is a standby.',
    labelNames: ['role'],
    registers: [registry],
  });
  const actions = new Counter({
    name: 'berth_operator_actions_total',
    help: 'Changes that the operator made in the cluster, by kind.',
    labelNames: ['kind'],
    registers: [registry],
  });
  return {
    requests: requestMetrics(registry),
    reconciles: reconcileMetrics(registry),
    queue: (controller, queue) => void queues.set(controller, queue),
    watches: (role, stats) => void caches.set(role, stats),
    leading(role, leads) {
      leading.set({ role }, leads ? 1 : 0);
      if (leads) return;
      caches.delete(role);
      for (const controller of CONTROLLERS[role]) queues.delete(controller);
    },
    action: (kind) => actions.inc({ kind }),
  };
}
