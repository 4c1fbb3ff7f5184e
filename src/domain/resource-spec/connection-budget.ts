/**
 * How the database's connections are shared out: every pod gets a pool so that all pods together, a rolling update's
 * surplus included, stay below max_connections with some left for the operator and for people.
 */

/** Rolling updates run a quarter more pods than wanted. */
const SURGE = 1.25;
/** Connections that no pod may take: superuser, probes, migrations by hand. */
export const RESERVED_CONNECTIONS = 10;
/** max_connections where none was sent: at least this, and in steps of this, so that small changes of scale restart no database. */
const CONNECTIONS_STEP = 100;
/** Connections a pod gets where the database is sized to fit. */
const USUAL_POOL = 10;
/** More helps no pod. */
const LARGEST_POOL = 100;
/** Beyond this the pools shrink before max_connections grows. */
const COMFORTABLE_CONNECTIONS = 1000;

export interface ConnectionBudget {
  /** Pods at full scale, during a rolling update. */
  pods: number;
  /** PostgreSQL's max_connections. */
  maxConnections: number;
  /** DATABASE_POOL_SIZE of each pod, at least 1. */
  poolSize: number;
}

/** Pods that components of these largest scales run during a rolling update. */
export function podsWithSurge(maxScales: readonly number[]): number {
  return maxScales.reduce((sum, scale) => sum + Math.ceil(scale * SURGE), 0);
}

/** The smallest max_connections at which every one of `pods` gets one connection. */
export function fewestConnections(pods: number): number {
  return pods + RESERVED_CONNECTIONS + 1;
}

/** As many as are comfortable, but no more than the ceiling unless the pods cannot do with fewer. */
function derivedConnections(pods: number, ceiling: number, floor: number): number {
  const comfortable = Math.min(pods * USUAL_POOL + RESERVED_CONNECTIONS + 1, COMFORTABLE_CONNECTIONS);
  const needed = Math.max(comfortable, fewestConnections(pods));
  const derived = Math.ceil(needed / CONNECTIONS_STEP) * CONNECTIONS_STEP;
  return Math.min(Math.max(derived, floor), Math.max(ceiling, fewestConnections(pods)));
}

/**
 * Shares out the connections.
 * @param maxScales most pods of each component that exists (executor 1; all 0 while switched off)
 * @param sent db_max_connections as sent; null: derived from the scales. One that `connectionShortage` refuses still
 *   gives a pool of 1.
 * @param ceiling what derived connections do not exceed where every pod still gets one
 * @param floor what derived connections do not fall below, up to the ceiling: room to scale without a restart
 */
export function connectionBudget(
  maxScales: readonly number[],
  sent: number | null,
  ceiling = Number.POSITIVE_INFINITY,
  floor = 0,
): ConnectionBudget {
  const pods = podsWithSurge(maxScales);
  const maxConnections = sent ?? derivedConnections(pods, ceiling, floor);
  const fitting = Math.floor((maxConnections - RESERVED_CONNECTIONS - 1) / Math.max(1, pods));
  const poolSize = Math.max(1, Math.min(fitting, sent === null ? USUAL_POOL : LARGEST_POOL));
  return { pods, maxConnections, poolSize };
}

/** Why `sent` connections are too few for these components, with the arithmetic; null if they are enough. */
export function connectionShortage(components: ReadonlyMap<string, number>, sent: number): string | null {
  const pods = podsWithSurge([...components.values()]);
  const needed = fewestConnections(pods);
  if (sent >= needed) return null;
  const terms = [...components].map(
    ([name, scale]) => `${name} ceil(${SURGE} × ${scale}) = ${Math.ceil(scale * SURGE)}`,
  );
  return `${sent} connections are too few: ${terms.join(', ')}, together ${pods} pods with at least 1 connection each; with ${RESERVED_CONNECTIONS} kept free that takes at least ${needed}`;
}
