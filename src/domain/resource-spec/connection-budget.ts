/**
 * Divides the database connections between pods. All pools together, including the surge of a rolling update, stay below
 * max_connections, with a reserve for the operator and for people.
 */

/** Factor of the surge of a rolling update, which runs up to a quarter more pods. */
const SURGE = 1.25;
/** Reserved connections: superuser, probes, manual migrations. */
export const RESERVED_CONNECTIONS = 10;
/** Minimum and step of derived max_connections, so that small changes of scale do not restart the database. */
const CONNECTIONS_STEP = 100;
/** Pool size of a pod for derived max_connections. */
const USUAL_POOL = 10;
/** Maximum pool size. */
const LARGEST_POOL = 100;
/** Pool size above which pools shrink before max_connections grows. */
const COMFORTABLE_CONNECTIONS = 1000;

export interface ConnectionBudget {
  /** Pods at full scale, during a rolling update. */
  pods: number;
  /** PostgreSQL's max_connections. */
  maxConnections: number;
  /** DATABASE_POOL_SIZE of each pod, at least 1. */
  poolSize: number;
}

/** Number of pods during a rolling update, for these maximum scales. */
export function podsWithSurge(maxScales: readonly number[]): number {
  return maxScales.reduce((sum, scale) => sum + Math.ceil(scale * SURGE), 0);
}

/** The smallest max_connections with one connection for each pod. */
export function fewestConnections(pods: number): number {
  return pods + RESERVED_CONNECTIONS + 1;
}

/** Derives max_connections. The result exceeds the ceiling only if the pods need more. */
function derivedConnections(pods: number, ceiling: number, floor: number): number {
  const comfortable = Math.min(pods * USUAL_POOL + RESERVED_CONNECTIONS + 1, COMFORTABLE_CONNECTIONS);
  const needed = Math.max(comfortable, fewestConnections(pods));
  const derived = Math.ceil(needed / CONNECTIONS_STEP) * CONNECTIONS_STEP;
  return Math.min(Math.max(derived, floor), Math.max(ceiling, fewestConnections(pods)));
}

/**
 * Divides the connections.
 * @param maxScales maximum number of pods of each existing component (executor 1; all 0 while switched off)
 * @param sent db_max_connections as sent; null: derived from the scales. A value that `connectionShortage` rejects
 *   still results in a pool of 1
 * @param ceiling maximum of derived connections, if every pod still gets a connection
 * @param floor minimum of derived connections, up to the ceiling, to allow scaling without a restart
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

/**
 * Why `sent` connections are too few for these components, with the calculation. null: the connections are sufficient.
 */
export function connectionShortage(components: ReadonlyMap<string, number>, sent: number): string | null {
  const pods = podsWithSurge([...components.values()]);
  const needed = fewestConnections(pods);
  if (sent >= needed) return null;
  const terms = [...components].map(
    ([name, scale]) => `${name} ceil(${SURGE} × ${scale}) = ${Math.ceil(scale * SURGE)}`,
  );
  return (
    `${sent} connections are too few: ${terms.join(', ')}, together ${pods} pods with at least 1 connection ` +
    `each; with ${RESERVED_CONNECTIONS} reserved connections, at least ${needed} are needed`
  );
}
