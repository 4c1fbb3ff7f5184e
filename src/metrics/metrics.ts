import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { type ClusterMetrics, clusterMetrics } from './cluster.ts';
import { type HubMetrics, hubMetrics } from './hub.ts';

/**
 * The metrics that Berth exports to Prometheus, on a separate port. docs/metrics.md is generated from these files.
 * Labels have bounded sets of values, such as templates of routes, status codes and closed lists, but no ids or names
 * of tenants.
 */

/** The metrics of a process. The metrics of hub and cluster exist only if a role of that side runs. */
export interface Metrics {
  readonly registry: Registry;
  /** The metrics of the hub, created at the first call. */
  hub(): HubMetrics;
  /** The metrics of operator and listener, which may share a process, created at the first call. */
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
 * Sampling interval of the event loop. Measured delays include this interval, so 50 ms means no delay. With the default
 * of prom-client, 10 ms, an idle process would use half a percent of a core for the sampling.
 */
const LOOP_SAMPLE_MS = 50;

/** @param about version and role for berth_build_info */
export function createMetrics(about: { readonly version: string; readonly role: string }): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_SAMPLE_MS });
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
