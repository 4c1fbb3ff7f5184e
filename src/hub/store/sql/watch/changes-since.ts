import { statement } from '../../core/statement.ts';

/** Number of changes of a tenant that one sweep returns. A stream sends a reset instead of so many. */
export const MAX_OF_TENANT = 500;
/** Number of changes of all tenants that one sweep returns. */
export const MAX_SWEPT = 5000;

/**
 * The transaction that wrote the version of a row. A row contains the lower half of its number. It can be a subtransaction,
 * which has a number of its own.
 */
const transactionOf = (alias: string) =>
  `((s.next - ((s.next - ${alias}.xmin::text::bigint) & 4294967295))::text::xid8)`;

/**
 * Every transaction below the oldest one that was running in a snapshot has ended before it. That also applies to a
 * subtransaction, because its number is higher than that of its transaction. A snapshot lists running transactions without
 * their subtransactions, so it does not decide about the others, of which the known ones have ended before.
 */
const isNew = (alias: string) =>
  `${transactionOf(alias)} >= pg_snapshot_xmin(:since::text::pg_snapshot) AND ${transactionOf(alias)} <> ALL(:known::xid8[])`;

/**
 * The deployments that have changed, and the events that were stored, after a snapshot. Row versions name the transaction that
 * wrote them, so this costs no writes and misses no change, in whatever order transactions commit. The first column is
 * the snapshot of this statement, also when nothing has changed.
 * since: null: nothing is returned except the snapshot. known: transactions whose rows were visible in `since`.
 * settled: events up to this position are visible in `since`.
 */
export const changesSinceStatement = statement<
  { tenantIds: readonly string[]; since: string | null; known: readonly string[]; settled: number },
  {
    snapshot: string;
    /** The oldest transaction that was running. */
    oldest: string;
    /** null in all three: nothing has changed. */
    tenantId: string | null;
    transaction: string | null;
    deploymentId: string | null;
    generation: number | null;
  }
>(
  'changes_since',
  `WITH s AS MATERIALIZED (
  SELECT pg_current_snapshot() AS snapshot, pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next
), changed AS (
  SELECT of_tenant.* FROM s, unnest(:tenantIds::uuid[]) AS t(id), LATERAL (
    SELECT d.tenant_id, d.id, d.generation, ${transactionOf('d')} AS transaction FROM deployments d
    WHERE d.tenant_id = t.id AND ${isNew('d')}
    UNION
    SELECT e.tenant_id, e.deployment_id, d.generation, ${transactionOf('e')}
    FROM events e LEFT JOIN deployments d ON d.id = e.deployment_id
    WHERE e.tenant_id = t.id AND e.position > :settled::bigint AND ${isNew('e')}
    LIMIT ${MAX_OF_TENANT}
  ) of_tenant
  LIMIT ${MAX_SWEPT}
)
SELECT s.snapshot::text AS snapshot, pg_snapshot_xmin(s.snapshot)::text AS oldest, c.tenant_id AS "tenantId",
  c.id AS "deploymentId", c.generation, c.transaction::text AS "transaction"
FROM s LEFT JOIN changed c ON true`,
);
