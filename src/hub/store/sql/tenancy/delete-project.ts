import { OUTBOX_CHANNEL } from '../../core/channels.ts';
import { statement } from '../../core/statement.ts';

interface Parameters {
  tenantId: string;
  projectId: string;
  messageId: string;
  eventId: string;
  actorKind: string;
  actorId: string | null;
  actorName: string | null;
}

/** The tracing backend is notified only of projects that it may know. */
const deletion = (name: string, condition: string) =>
  statement<Parameters, { id: string }>(
    name,
    `WITH gone AS (
  DELETE FROM tracing_projects p WHERE p.id = :projectId AND p.tenant_id = :tenantId ${condition}
  RETURNING id, tenant_id, name, backend_id, backend_synced_at
), message AS (
  INSERT INTO outbox (id, tenant_id, kind, subject_id, payload)
  SELECT :messageId::uuid, tenant_id, 'tracing_project.deleted', id,
    jsonb_build_object('name', name, 'backend_id', backend_id)
  FROM gone
  WHERE backend_synced_at IS NOT NULL OR EXISTS (SELECT 1 FROM outbox o WHERE o.subject_id = gone.id)
), event AS (
  INSERT INTO events (id, tenant_id, actor_kind, actor_id, actor_name, reason, message, details)
  SELECT :eventId::uuid, tenant_id, :actorKind::text, :actorId::uuid, :actorName::text, 'TracingProjectDeleted',
    'Tracing project ' || name || ' was deleted.', jsonb_build_object('tracing_project_id', id)
  FROM gone
)
SELECT id, pg_notify('${OUTBOX_CHANNEL}', '') FROM gone`,
  );

/** Deletes a tracing project, with its event and the message to the tracing backend. */
export const deleteProjectStatement = deletion('delete_project', '');

/** Deletes a tracing project that no deployment uses. */
export const deleteUnusedProjectStatement = deletion(
  'delete_unused_project',
  'AND NOT EXISTS (SELECT 1 FROM deployments d WHERE d.tracing_project_id = p.id)',
);
