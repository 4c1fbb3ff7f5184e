import { WORK_CHANNEL } from '../../core/channels.ts';
import { statement } from '../../core/statement.ts';
import { HISTORY_STATUS } from '../../deployments/status.ts';
import { authorSql } from '../fragments/generation-author.ts';

/**
 * Requests deletions. Other deployments that are being deleted and share a tracing project get the same choice about
 * this project.
 */
export const requestDeletionsStatement = statement<{
  tenantId: string;
  deploymentIds: readonly string[];
  /** One id per deployment. */
  eventIds: readonly string[];
  deleteTracingProject: boolean;
  graceSeconds: number;
  keepWorkloads: boolean;
  actorKind: string;
  actorId: string | null;
  actorName: string | null;
}>(
  'request_deletions',
  `WITH former AS (
  SELECT d.id AS former_id, ${HISTORY_STATUS} AS former_status
  FROM deployments d JOIN listeners l ON l.id = d.listener_id
  WHERE d.id = ANY(:deploymentIds::uuid[]) AND d.tenant_id = :tenantId
), d AS (
  UPDATE deployments SET delete_requested_at = now(), delete_tracing_project = :deleteTracingProject,
    generation = generation + 1, quota_gpus_generation = quota_gpus_generation + 1, next_poll_at = NULL, keep_workloads = :keepWorkloads,
    purge_after = now() + make_interval(secs => :graceSeconds::float8), next_attempt_at = now(), attempts = 0,
    updated_at = now(), updated_by = ${authorSql('generation + 1')}
  FROM former
  WHERE id = former_id AND tenant_id = :tenantId AND delete_requested_at IS NULL
  RETURNING id, tenant_id, listener_id, name, tracing_project_id, purge_after, former_status
), leaving AS (
  UPDATE deployments o SET delete_tracing_project = :deleteTracingProject FROM d
  WHERE o.tenant_id = :tenantId AND o.tracing_project_id = d.tracing_project_id AND o.delete_requested_at IS NOT NULL
), event AS (
  INSERT INTO events (id, tenant_id, deployment_id, actor_kind, actor_id, actor_name, reason, message, details)
  SELECT e.id, d.tenant_id, d.id, :actorKind::text, :actorId::uuid, :actorName::text, 'DeletionRequested',
    'Deletion of ' || d.name || ' was requested.',
    jsonb_build_object('delete_tracing_project', :deleteTracingProject::boolean, 'purge_after', d.purge_after,
      'keep_workloads', :keepWorkloads::boolean, 'from', d.former_status, 'to', 'AWAITING_DELETE')
  FROM d JOIN unnest(:deploymentIds::uuid[], :eventIds::uuid[]) AS e(deployment_id, id) ON e.deployment_id = d.id
)
SELECT pg_notify('${WORK_CHANNEL}', listener_id::text) FROM d GROUP BY listener_id`,
);
