import { tombstones } from '../../core/schema.ts';
import { type Columns, columns, statement } from '../../core/statement.ts';
import { REDELIVER_SECONDS } from '../fragments/redelivery.ts';

const NAMES = [
  'id',
  'tenantId',
  'generation',
  'appName',
  'namespace',
  'envRevisions',
  'keepWorkloads',
] as const;

/** Hands out leftovers of deleted deployments, round robin between tenants. Locked rows are skipped. */
export const takeLeftoversStatement = statement<
  { listenerId: string; limit: number },
  Columns<typeof tombstones, (typeof NAMES)[number]>
>(
  'take_leftovers',
  `WITH waiting AS (
  SELECT id, next_attempt_at, row_number() OVER (PARTITION BY tenant_id ORDER BY next_attempt_at, id) AS turn
  FROM tombstones WHERE listener_id = :listenerId AND due AND next_attempt_at <= now()
  ORDER BY turn, next_attempt_at, id LIMIT :limit
), locked AS (
  SELECT id FROM tombstones WHERE id IN (SELECT id FROM waiting) AND due AND next_attempt_at <= now()
  FOR UPDATE SKIP LOCKED
)
UPDATE tombstones t SET attempts = greatest(t.attempts, 1),
  next_attempt_at = now() + make_interval(secs => ${REDELIVER_SECONDS})
WHERE t.id IN (SELECT id FROM locked)
RETURNING ${columns(tombstones, 't', NAMES)}`,
);
