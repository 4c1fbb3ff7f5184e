import { uuidv7At } from '../../../domain/core/id.ts';
import {
  DEPLOYMENT_STATUSES,
  type DeploymentStatus,
  type ListenerStatus,
} from '../../../domain/revision/states.ts';
import type { Reader } from '../core/database.ts';
import { pollDue } from '../sql/fragments/branch-polls.ts';
import { DEPLOYMENT_STATUS } from './status.ts';

/** Reads totals over all tenants, for metrics. Three statements read one table each. */

/** Number of waiting items, and the seconds for which the oldest has waited; 0: no item waits. */
export interface Waiting {
  readonly count: number;
  readonly oldestSeconds: number;
}

/** A listener of the platform. */
export interface ListenerPulse {
  readonly id: string;
  /** Seconds since the last call of the listener; null: it never called. */
  readonly silentSeconds: number | null;
  /**
   * Seconds until the cluster counts as not observed. Negative: the cluster has not been observed for this number of
   * seconds; null: the listener never held the lease.
   */
  readonly leaseSeconds: number | null;
}

/** Kinds of owners of listeners. */
export const LISTENER_OWNERS = ['platform', 'tenant'] as const;
export type ListenerOwner = (typeof LISTENER_OWNERS)[number];

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

const DUE = 'd.generation > d.acknowledged_generation AND d.next_attempt_at <= now()';
const POLL_DUE = pollDue('$1');
const OWNER = `CASE WHEN l.tenant_id IS NULL THEN 'platform' ELSE 'tenant' END`;
const age = (column: string, condition: string) =>
  `coalesce(extract(epoch FROM now() - min(${column}) FILTER (WHERE ${condition})), 0)::float8`;

/** One pass over the table, which returns one row per status and owner. */
const DEPLOYMENTS = `
SELECT ${DEPLOYMENT_STATUS} AS status, ${OWNER} AS owner, count(*)::int AS count,
  count(*) FILTER (WHERE ${DUE})::int AS due, ${age('d.next_attempt_at', DUE)} AS "dueSeconds",
  count(*) FILTER (WHERE d.observed_generation IS DISTINCT FROM d.generation)::int AS unreconciled,
  count(*) FILTER (WHERE ${POLL_DUE})::int AS polls, ${age('d.next_poll_at', POLL_DUE)} AS "pollSeconds"
FROM deployments d JOIN listeners l ON l.id = d.listener_id GROUP BY 1, 2`;

interface StatusRow {
  status: DeploymentStatus;
  owner: ListenerOwner;
  count: number;
  due: number;
  dueSeconds: number;
  unreconciled: number;
  polls: number;
  pollSeconds: number;
}

const LISTENERS = `
SELECT l.id, ${OWNER} AS owner,
  CASE WHEN NOT l.ever_seen THEN 'NEVER_SEEN' WHEN NOT coalesce(l.lease_expires_at > now(), false) THEN 'LOST'
    WHEN NOT l.cluster_reachable THEN 'CLUSTER_UNREACHABLE' ELSE 'CONNECTED' END AS status,
  extract(epoch FROM now() - l.last_seen_at)::float8 AS "silentSeconds",
  -- One that was given up ran out then.
  extract(epoch FROM coalesce(l.lease_expires_at, l.last_seen_at) - now())::float8 AS "leaseSeconds"
FROM listeners l ORDER BY "leaseSeconds", l.id`;

/** Revision ids are ordered by time, so this is a range of the primary key. */
const ROLLED = `
WITH ended AS (
  SELECT DISTINCT ON (r.deployment_id) r.tenant_id, r.status = 'DEPLOY_FAILED' AS failed FROM revisions r
  WHERE r.id >= $1 AND r.status IN ('DEPLOYED', 'DEPLOY_FAILED') ORDER BY r.deployment_id, r.number DESC)
SELECT count(*)::int AS deployments, count(*) FILTER (WHERE failed)::int AS "failedDeployments",
  count(DISTINCT tenant_id)::int AS tenants, count(DISTINCT tenant_id) FILTER (WHERE failed)::int AS "failedTenants"
FROM ended`;

const ROLLED_MS = 3_600_000;

interface RolledRow {
  deployments: number;
  failedDeployments: number;
  tenants: number;
  failedTenants: number;
}

async function readRolled(reader: Reader): Promise<Rolled> {
  const [row] = await reader.query<RolledRow>(ROLLED, [uuidv7At(Date.now() - ROLLED_MS)]);
  const { deployments = 0, failedDeployments = 0, tenants = 0, failedTenants = 0 } = row ?? {};
  return {
    deployments: { deployed: deployments - failedDeployments, failed: failedDeployments },
    tenants: { deployed: tenants - failedTenants, failed: failedTenants },
  };
}

interface ListenerRow extends ListenerPulse {
  readonly owner: ListenerCount['owner'];
  readonly status: ListenerStatus;
}

function counted(rows: readonly ListenerRow[]): ListenerCount[] {
  const groups = Map.groupBy(rows, ({ owner, status }) => `${owner} ${status}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    return first === undefined ? [] : [{ owner: first.owner, status: first.status, count: group.length }];
  });
}

type Measure = (row: StatusRow) => number;
const sum = (rows: readonly StatusRow[], value: Measure) =>
  rows.reduce((total, row) => total + value(row), 0);
const waiting = (rows: readonly StatusRow[], count: Measure, age: Measure): Waiting => ({
  count: sum(rows, count),
  oldestSeconds: Math.max(0, ...rows.map(age)),
});

/**
 * Reads the totals. Platform scope.
 * @param soonOnly whether branches are polled only after a push whose order was uncertain, so that other branches do
 * not count
 */
export async function readFleet(
  reader: Reader,
  { soonOnly = false }: { readonly soonOnly?: boolean } = {},
): Promise<Fleet> {
  const rows = await reader.query<StatusRow>(DEPLOYMENTS, [soonOnly]);
  const listeners = await reader.query<ListenerRow>(LISTENERS);
  const due = (owner: ListenerOwner) =>
    waiting(
      rows.filter((row) => row.owner === owner),
      ({ due: count }) => count,
      ({ dueSeconds }) => dueSeconds,
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
      ({ pollSeconds }) => pollSeconds,
    ),
    listeners: counted(listeners),
    pulses: listeners
      .filter(({ owner }) => owner === 'platform')
      .slice(0, MAX_LISTENERS)
      .map(({ id, silentSeconds, leaseSeconds }) => ({ id, silentSeconds, leaseSeconds })),
  };
}
