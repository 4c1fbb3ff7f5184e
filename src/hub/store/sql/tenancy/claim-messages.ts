import { outbox } from '../../core/schema.ts';
import { type Columns, columns, statement } from '../../core/statement.ts';

/**
 * Claims due messages. One message of a project is in flight at a time. A deletion replaces a creation that still
 * waits, and is sent alone. (An attempt clears last_error when it begins and sets it when it fails, which distinguishes
 * messages in flight from waiting messages.) Ids and times do not define the order, because they come from several
 * clocks.
 */
export const claimMessagesStatement = statement<
  { limit: number; leaseSeconds: number },
  Columns<typeof outbox, 'id' | 'tenantId' | 'kind' | 'subjectId' | 'payload' | 'attempts'> & {
    /** null: the tenant is deleted. */
    tenantName: string | null;
  }
>(
  'claim_messages',
  `WITH due AS (
  SELECT o.id FROM outbox o
  WHERE o.next_attempt_at <= now() AND NOT EXISTS (
    SELECT 1 FROM outbox other WHERE other.subject_id = o.subject_id AND other.id <> o.id
      AND (other.kind > o.kind
        OR (other.attempts > 0 AND other.last_error IS NULL AND other.next_attempt_at > now())))
  ORDER BY o.next_attempt_at LIMIT :limit FOR UPDATE OF o SKIP LOCKED
)
UPDATE outbox o SET attempts = o.attempts + 1, last_error = NULL,
  next_attempt_at = now() + make_interval(secs => :leaseSeconds::double precision)
FROM due WHERE o.id = due.id
RETURNING ${columns(outbox, 'o', ['id', 'tenantId', 'kind', 'subjectId', 'payload', 'attempts'])},
  (SELECT name FROM tenants t WHERE t.id = o.tenant_id) AS "tenantName"`,
);
