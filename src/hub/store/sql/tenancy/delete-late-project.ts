import { statement } from '../../core/statement.ts';

/**
 * Sends a deletion for a project that was created too late. A waiting deletion must still be sent. A deletion in flight
 * may arrive before the creation that it removes, so it is sent again.
 */
export const deleteLateProjectStatement = statement<{
  projectId: string;
  tenantId: string;
  /** JSON text. */
  payload: string;
}>(
  'delete_late_project',
  `INSERT INTO outbox (id, tenant_id, kind, subject_id, payload)
SELECT gen_random_uuid(), :tenantId::uuid, 'tracing_project.deleted', :projectId::uuid, :payload::jsonb
WHERE NOT EXISTS (SELECT 1 FROM outbox o WHERE o.subject_id = :projectId::uuid AND o.kind = 'tracing_project.deleted'
  AND NOT (o.attempts > 0 AND o.last_error IS NULL AND o.next_attempt_at > now()))`,
);
