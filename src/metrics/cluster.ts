import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { ObservedRequest } from '../cluster/kube/client/client-types.ts';
import type { ReconcileOutcome } from '../cluster/kube/queue/controller.ts';
import { type Controller, type ObservedQueue, reconcileMetrics, registerQueues } from './controllers.ts';
import { type ClusterRole, type WatchStats, watchMetrics } from './watches.ts';

/** Defines the metrics of the roles that work in a cluster: operator and listener. */

const CONTROLLERS: Readonly<Record<ClusterRole, readonly Controller[]>> = {
  operator: ['manageddeployment', 'build'],
  listener: ['work'],
};

export interface ClusterMetrics {
  /** Counts the calls of a role to its API server. */
  requests(role: ClusterRole): (request: ObservedRequest) => void;
  /** Counts reconciles by result. */
  reconciles(controller: Controller): (result: { outcome: ReconcileOutcome; durationMs: number }) => void;
  /** Sets the queue of this leadership term and drops the previous queue. */
  queue(controller: Controller, queue: ObservedQueue): void;
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

/** The code of a call without a response, as in client-go. */
const NO_RESPONSE = '<error>';

function requestMetrics(registry: Registry): ClusterMetrics['requests'] {
  const requests = new Counter({
    name: 'rest_client_requests_total',
    help: 'Calls to the API server by HTTP status, HTTP method and host. <error>: no response.',
    labelNames: ['code', 'method', 'host'],
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
    ({ verb, method, host, status, durationMs }) => {
      requests.inc({ code: status === 0 ? NO_RESPONSE : String(status), method, host });
      seconds.observe({ role, verb }, durationMs / 1000);
    };
}

export function clusterMetrics(registry: Registry): ClusterMetrics {
  const queues = registerQueues(registry);
  const caches = new Map<ClusterRole, () => readonly WatchStats[]>();
  watchMetrics(registry, caches);
  const leading = new Gauge({
    name: 'leader_election_master_status',
    help:
      '1: this process holds the lease (berth-operator: the Lease of the operators of a cluster, berth-listener: the ' +
      'lease that the hub grants to a listener). 0: this process is a standby.',
    labelNames: ['name'],
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
    queue: queues.set,
    watches: (role, stats) => void caches.set(role, stats),
    leading(role, leads) {
      leading.set({ name: `berth-${role}` }, leads ? 1 : 0);
      if (leads) return;
      caches.delete(role);
      for (const controller of CONTROLLERS[role]) queues.drop(controller);
    },
    action: (kind) => actions.inc({ kind }),
  };
}
