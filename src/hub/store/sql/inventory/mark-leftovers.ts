import { tombstones } from '../../core/schema.ts';
import { type Columns, columns, statement } from '../../core/statement.ts';
import { ENTRIES, type InventoryParameters, isSamePlace } from './entries.ts';

/** Requeues purges of deleted deployments whose custom resources were found. */
export const markLeftoversStatement = statement<
  InventoryParameters,
  Columns<typeof tombstones, 'id' | 'tenantId'>
>(
  'mark_leftovers',
  `UPDATE tombstones t SET due = true, next_attempt_at = now(), attempts = 0, look_again_at = now()
FROM ${ENTRIES}
WHERE t.listener_id = :listenerId AND ${isSamePlace('t')} AND e.present AND NOT t.due
RETURNING ${columns(tombstones, 't', ['id', 'tenantId'])}`,
);
