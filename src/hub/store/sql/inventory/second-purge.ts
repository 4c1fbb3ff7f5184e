import { tombstones } from '../../core/schema.ts';
import { type Columns, columns, statement } from '../../core/statement.ts';

/**
 * Purges each deleted deployment again with the first complete inventory that arrives at least a minute after the end
 * of the deletion. A POST of a replaced or dead process may still be in flight when a deletion ends, and an object
 * without a custom resource is in no inventory. At most ten purges per second are due, because one costs ten reads, and
 * no user waits for it.
 */
export const secondPurgeStatement = statement<
  { listenerId: string; namespaces: readonly string[] | null },
  Columns<typeof tombstones, 'id' | 'tenantId'>
>(
  'second_purge',
  `WITH again AS (
  SELECT id, row_number() OVER (ORDER BY look_again_at, id) - 1 AS place FROM tombstones
  WHERE listener_id = :listenerId AND NOT due AND NOT keep_workloads
    AND (:namespaces::text[] IS NULL OR namespace = ANY(:namespaces)) AND look_again_at <= now()
)
UPDATE tombstones t SET due = true, next_attempt_at = now() + again.place * interval '100 milliseconds', attempts = 0,
  look_again_at = NULL
FROM again WHERE t.id = again.id AND NOT t.due AND t.look_again_at <= now()
RETURNING ${columns(tombstones, 't', ['id', 'tenantId'])}`,
);
