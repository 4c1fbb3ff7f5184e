import { statement } from '../../core/statement.ts';

/** The tenants that have events in a range of positions. null: the platform. */
export const eventTenantsStatement = statement<
  { after: number; settled: number },
  { tenantId: string | null }
>(
  'event_tenants',
  `SELECT DISTINCT tenant_id AS "tenantId" FROM events
WHERE position > :after::bigint AND position <= :settled::bigint`,
);
