import { statement } from '../../core/statement.ts';

/** Number of changes that one sweep returns. */
export const MAX_SWEPT = 2000;

/** The transaction that wrote the version of a row. A row contains the lower half of its number. */
const transactionOf = (alias: string) =>
  `((s.next - ((s.next - ${alias}.xmin::text::bigint) & 4294967295))::text::xid8)`;

const isNew = (alias: string) =>
  `NOT pg_visible_in_snapshot(${transactionOf(alias)}, :since::text::pg_snapshot)`;

/**
 * The deployments that have changed, and the events that were stored, after a snapshot. Row versions name the transaction that
 * wrote them, so this costs no writes and misses no change, in whatever order transactions commit. The first column is
 * the snapshot of this statement, also when nothing has changed.
 * since: null: nothing is returned except the snapshot. settled: events up to this position are visible in `since`.
 */
export const changesSinceStatement = statement<
  { tenantIds: readonly string[]; since: string | null; settled: number },
  {
    snapshot: string;
    /** null in all three: nothing has changed. */
    tenantId: string | null;
    transaction: string | null;
    deploymentId: string | null;
    generation: number | null;
  }
>(
  'changes_since',
  `WITH s AS MATERIALIZED (
  SELECT pg_current_snapshot()::text AS snapshot, pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next
), changed AS (
  SELECT d.tenant_id, d.id, d.generation, ${transactionOf('d')} AS transaction FROM deployments d, s
  WHERE d.tenant_id = ANY(:tenantIds::uuid[]) AND ${isNew('d')}
  UNION
  SELECT e.tenant_id, e.deployment_id, d.generation, ${transactionOf('e')}
  FROM s, events e LEFT JOIN deployments d ON d.id = e.deployment_id
  WHERE e.tenant_id = ANY(:tenantIds::uuid[]) AND e.position > :settled::bigint AND ${isNew('e')}
  LIMIT ${MAX_SWEPT}
)
SELECT s.snapshot, c.tenant_id AS "tenantId", c.id AS "deploymentId", c.generation, c.transaction::text AS "transaction"
FROM s LEFT JOIN changed c ON true`,
);
