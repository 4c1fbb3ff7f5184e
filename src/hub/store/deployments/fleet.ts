import { uuidv7At } from '../../../domain/core/id.ts';
import {
  DEPLOYMENT_STATUSES,
  type DeploymentStatus,
  type ListenerStatus,
} from '../../../domain/revision/states.ts';
import type { Reader } from '../core/database.ts';
import type { ResultRow } from '../core/statement.ts';
import { countDeploymentsStatement } from '../sql/fleet/count-deployments.ts';
import { countRolledStatement } from '../sql/fleet/count-rolled.ts';
import { listenerPulsesStatement } from '../sql/fleet/listener-pulses.ts';
import { LISTENER_OWNERS, type ListenerOwner } from '../sql/fragments/listener-owner.ts';

export { LISTENER_OWNERS, type ListenerOwner };

/** Reads totals over all tenants, for metrics. Three statements read one table each. */

/** Number of waiting items, and the Unix time in seconds since which the oldest has waited; null: no item waits. */
export interface Waiting {
  readonly count: number;
  readonly oldestAt: number | null;
}

/** A listener of the platform. */
export interface ListenerPulse {
  readonly id: string;
  /** Unix time in seconds of the last call of the listener; null: it never called. */
  readonly lastSeenAt: number | null;
  /**
   * Unix time in seconds at which the cluster starts to count as not observed; null: the listener never held the lease.
   */
  readonly leaseExpiresAt: number | null;
}

export interface ListenerCount {
  readonly owner: ListenerOwner;
  readonly status: ListenerStatus;
  readonly count: number;
}

/** Counts by result. */
export interface RolledCount {
  readonly deployed: number;
  readonly failed: number;
}

/**
 * Number of revisions of the last hour that reached a final status. Only the newest revision of each deployment counts.
 */
export interface Rolled {
  readonly deployments: RolledCount;
  /** Number of tenants by result. A tenant with a failed revision counts as failed. */
  readonly tenants: RolledCount;
}

export interface Fleet {
  readonly deployments: Readonly<Record<DeploymentStatus, number>>;
  /**
   * Number of generations that no listener has applied yet and that may be handed out now, by owner of the listener.
   */
  readonly due: Readonly<Record<ListenerOwner, Waiting>>;
  /** Recent results of rollouts. Each deployment counts once, even if it has several rollouts. */
  readonly rolled: Rolled;
  /** Number of deployments whose cluster is not yet observed to run the desired generation. */
  readonly unreconciled: number;
  /** Number of branches that are due for a poll. */
  readonly branches: Waiting;
  readonly listeners: readonly ListenerCount[];
  /** At most MAX_LISTENERS listeners, in the order in which their leases expire or expired. */
  readonly pulses: readonly ListenerPulse[];
}

const MAX_LISTENERS = 50;

const ROLLED_MS = 3_600_000;

async function readRolled(reader: Reader): Promise<Rolled> {
  const [row] = await reader.run(countRolledStatement, { since: uuidv7At(Date.now() - ROLLED_MS) });
  const { deployments = 0, failedDeployments = 0, tenants = 0, failedTenants = 0 } = row ?? {};
  return {
    deployments: { deployed: deployments - failedDeployments, failed: failedDeployments },
    tenants: { deployed: tenants - failedTenants, failed: failedTenants },
  };
}

function counted(rows: readonly ResultRow<typeof listenerPulsesStatement>[]): ListenerCount[] {
  const groups = Map.groupBy(rows, ({ owner, status }) => `${owner} ${status}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    return first === undefined ? [] : [{ owner: first.owner, status: first.status, count: group.length }];
  });
}

type Counts = ResultRow<typeof countDeploymentsStatement>;
type Measure = (row: Counts) => number;
const sum = (rows: readonly Counts[], value: Measure) => rows.reduce((total, row) => total + value(row), 0);
const waiting = (rows: readonly Counts[], count: Measure, since: (row: Counts) => number | null): Waiting => {
  const times = rows.map(since).filter((time) => time !== null);
  return { count: sum(rows, count), oldestAt: times.length === 0 ? null : Math.min(...times) };
};

/**
 * Reads the totals. Platform scope.
 * @param soonOnly whether branches are polled only after a push whose order was uncertain, so that other branches do
 * not count
 */
export async function readFleet(
  reader: Reader,
  { soonOnly = false }: { readonly soonOnly?: boolean } = {},
): Promise<Fleet> {
  const rows = await reader.run(countDeploymentsStatement, { soonOnly });
  const listeners = await reader.run(listenerPulsesStatement, {});
  const due = (owner: ListenerOwner) =>
    waiting(
      rows.filter((row) => row.owner === owner),
      ({ due: count }) => count,
      ({ dueSince }) => dueSince,
    );
  const count = (status: DeploymentStatus) =>
    sum(
      rows.filter((row) => row.status === status),
      (row) => row.count,
    );
  return {
    deployments: Object.fromEntries(
      DEPLOYMENT_STATUSES.map((status) => [status, count(status)]),
    ) as Fleet['deployments'],
    due: { platform: due('platform'), tenant: due('tenant') },
    rolled: await readRolled(reader),
    unreconciled: sum(rows, ({ unreconciled }) => unreconciled),
    branches: waiting(
      rows,
      ({ polls }) => polls,
      ({ pollSince }) => pollSince,
    ),
    listeners: counted(listeners),
    pulses: listeners
      .filter(({ owner }) => owner === 'platform')
      .slice(0, MAX_LISTENERS)
      .map(({ id, lastSeenAt, leaseExpiresAt }) => ({ id, lastSeenAt, leaseExpiresAt })),
  };
}
