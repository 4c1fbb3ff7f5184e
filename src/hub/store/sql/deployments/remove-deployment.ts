import { WORK_CHANNEL } from '../../core/channels.ts';
import type { deployments } from '../../core/schema.ts';
import { type Columns, statement } from '../../core/statement.ts';
import { PURGED_ENVIRONMENTS } from '../fragments/desired-revision.ts';
import { cleanWhole } from '../fragments/whole-cleaning.ts';

/**
 * Removes the record of a deployment that is being deleted, and leaves a tombstone. Kept workloads keep their images,
 * and their hosts that are not confirmed to be unrouted. Several deployments of one tenant may have had the same host
 * one after the other.
 */
export const removeDeploymentStatement = statement<
  {
    tenantId: string;
    deploymentId: string;
    /** Whether workloads may have run. */
    ran: boolean;
    /** Whether the tombstone is purge work. */
    due: boolean;
    eventId: string;
    actorKind: string;
    actorId: string | null;
    actorName: string | null;
    reason: string;
    /** Message of the event, if no workloads are kept. `%s` is the name of the deployment. */
    message: string;
    keptMessage: string;
  },
  Columns<typeof deployments, 'tracingProjectId' | 'deleteTracingProject'>
>(
  'remove_deployment',
  `WITH d AS (
  DELETE FROM deployments WHERE id = :deploymentId AND tenant_id = :tenantId AND delete_requested_at IS NOT NULL
  RETURNING id, tenant_id, listener_id, name, app_name, namespace, generation, tracing_project_id, delete_tracing_project,
    keep_workloads, keep_workloads AND :ran::boolean AS stays
), tombstone AS (
  INSERT INTO tombstones (id, tenant_id, listener_id, name, app_name, namespace, generation, env_revisions, due,
    keep_workloads, kept_workloads)
  SELECT id, tenant_id, listener_id, name, app_name, namespace, generation, ARRAY(${PURGED_ENVIRONMENTS}), :due::boolean,
    keep_workloads, stays
  FROM d
), cleaning AS (${cleanWhole('d WHERE NOT stays')}
), kept AS (
  INSERT INTO kept_hosts (host, tenant_id, deployment_ids)
  SELECT h.host, h.tenant_id, ARRAY[h.deployment_id] FROM leaving_hosts h JOIN d ON d.id = h.deployment_id WHERE d.stays
  ON CONFLICT (host) DO UPDATE SET deployment_ids = kept_hosts.deployment_ids || EXCLUDED.deployment_ids
  RETURNING host
), event AS (
  INSERT INTO events (id, tenant_id, deployment_id, actor_kind, actor_id, actor_name, reason, message, details)
  SELECT :eventId::uuid, tenant_id, id, :actorKind::text, :actorId::uuid, :actorName::text, :reason::text,
    format(CASE WHEN stays THEN :keptMessage::text ELSE :message::text END, name),
    '{"from": "AWAITING_DELETE", "to": null}'
      || coalesce((SELECT jsonb_build_object('kept_hosts', jsonb_agg(host)) FROM kept HAVING count(*) > 0), '{}')
  FROM d
)
SELECT tracing_project_id AS "tracingProjectId", delete_tracing_project AS "deleteTracingProject",
  CASE WHEN :due::boolean THEN pg_notify('${WORK_CHANNEL}', listener_id::text) END
FROM d`,
);
