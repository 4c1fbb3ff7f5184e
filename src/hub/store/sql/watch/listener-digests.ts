import { statement } from '../../core/statement.ts';

/** A digest of the columns of listeners on which statuses depend (status.ts), per owner. null: the platform. */
export const listenerDigestsStatement = statement<
  { tenantIds: readonly string[] },
  { tenantId: string | null; digest: string }
>(
  'listener_digests',
  `SELECT tenant_id AS "tenantId", md5(string_agg(
  concat_ws(' ', id, cluster_reachable, awaits_inventory, loss_recorded, unreadable, compute_config), ',' ORDER BY id)) AS digest
FROM listeners WHERE tenant_id IS NULL OR tenant_id = ANY(:tenantIds::uuid[]) GROUP BY tenant_id`,
);
