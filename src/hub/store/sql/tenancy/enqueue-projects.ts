import { statement } from '../../core/statement.ts';

/**
 * Creates messages for projects that the tracing backend does not know. The lock on the project delays its deletion,
 * which then sees the message.
 */
export const enqueueProjectsStatement = statement<{ limit: number }, { id: string }>(
  'enqueue_projects',
  `WITH unknown AS (
  SELECT p.id, p.tenant_id, p.name FROM tracing_projects p
  WHERE p.backend_synced_at IS NULL AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.subject_id = p.id)
  ORDER BY p.id LIMIT :limit FOR NO KEY UPDATE SKIP LOCKED
)
INSERT INTO outbox (id, tenant_id, kind, subject_id, payload)
SELECT gen_random_uuid(), tenant_id, 'tracing_project.created', id, jsonb_build_object('name', name) FROM unknown
RETURNING id`,
);
