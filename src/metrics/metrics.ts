import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { type ClusterMetrics, clusterMetrics } from './cluster.ts';
import { type HubMetrics, hubMetrics } from './hub.ts';

/**
 * What Berth tells Prometheus, on a port of its own. Names and what they mean: docs/metrics.md, made from these files.
 * Labels are bounded: routes as templates, classes of statuses, closed lists; no id or name of a tenant's.
 */

/** The metrics of a process: those of each side exist where a role of that side runs. */
export interface Metrics {
  readonly registry: Registry;
  /** Of the hub; made at the first call. */
  hub(): HubMetrics;
  /** Of what runs beside a cluster, operator and listener, which may share a process; made at the first call. */
  cluster(): ClusterMetrics;
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/**
 * The event loop is looked at so often. Its delays have it in them: one of 50 ms is none. With prom-client's own 10 ms a
 * process at rest takes half a percent of a core for it.
 */
const LOOK_AT_LOOP_MS = 50;

/** @param about what the process is, for berth_build_info */
export function createMetrics(about: { readonly version: string; readonly role: string }): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOK_AT_LOOP_MS });
  new Gauge({
    name: 'berth_build_info',
    help: 'Always 1. The labels are the version and the role of the process.',
    labelNames: ['version', 'role'],
    registers: [registry],
  }).set({ version: about.version, role: about.role }, 1);
  return {
    registry,
    hub: once(() => hubMetrics(registry)),
    cluster: once(() => clusterMetrics(registry)),
  };
}
