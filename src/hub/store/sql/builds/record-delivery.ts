import type { webhookDeliveries } from '../../core/schema.ts';
import { type Columns, statement } from '../../core/statement.ts';

/**
 * Records a webhook delivery under each of its keys, and returns the new keys. The keys are inserted in order, so that
 * two processes that record the same delivery do not deadlock.
 */
export const recordDeliveryStatement = statement<
  { tenantId: string; integrationId: string; keys: readonly string[] },
  Columns<typeof webhookDeliveries, 'deliveryId'>
>(
  'record_delivery',
  `INSERT INTO webhook_deliveries (tenant_id, integration_id, delivery_id)
SELECT :tenantId::uuid, :integrationId::uuid, key FROM unnest(:keys::text[]) AS key ORDER BY key
ON CONFLICT DO NOTHING RETURNING delivery_id AS "deliveryId"`,
);
