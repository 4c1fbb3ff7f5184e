import type { DeploymentType, Source } from '../../../../domain/deployment/source.ts';
import { statement } from '../../core/statement.ts';
import type { DeploymentRow } from '../../deployments/deployment-row.ts';
import { nextPollSql } from '../fragments/branch-polls.ts';
import { authorSql } from '../fragments/generation-author.ts';
import { type TailParameters, WRITE_TAIL } from './write-tail.ts';

/** The parameters with which both a creation and a change write a deployment. */
export interface WrittenDeployment {
  tenantId: string;
  deploymentId: string;
  /** JSON text. */
  sourceConfig: string;
  /** JSON text. */
  sourceRevisionConfig: string;
  deploymentType: DeploymentType | null;
  routeHost: string | null;
  imageVersion: string | null;
  quotaCpuM: number | null;
  quotaMemoryMb: number | null;
  quotaStorageGi: number | null;
  quotaGpus: number | null;
}

/**
 * All writes of a POST, in one round trip: the tracing project (an existing project of the same name is reused), the
 * deployment, and the writes of WRITE_TAIL. Foreign keys are checked at the end of the statement.
 */
export const insertDeploymentStatement = statement<
  TailParameters &
    WrittenDeployment & {
      projectId: string;
      name: string;
      source: Source;
      appName: string;
      namespace: string;
      listenerId: string;
    },
  DeploymentRow
>(
  'insert_deployment',
  `WITH project AS (
  INSERT INTO tracing_projects (id, tenant_id, name) VALUES (:projectId, :tenantId, :name)
  ON CONFLICT (tenant_id, name) DO UPDATE SET name = excluded.name
  RETURNING id
), d AS (
  INSERT INTO deployments (id, tenant_id, name, source, deployment_type, source_config, source_revision_config,
    secrets_id, route_host, image_version, app_name, namespace, listener_id, tracing_project_id,
    latest_revision_id, has_runnable_revision, quota_cpu_m, quota_memory_mb, quota_storage_gi,
    quota_gpus, quota_gpus_generation, updated_by, next_poll_at)
  SELECT :deploymentId::uuid, :tenantId::uuid, :name::text, :source::text, :deploymentType::text,
    :sourceConfig::jsonb, :sourceRevisionConfig::jsonb, :setId::uuid, :routeHost::text, :imageVersion::text,
    :appName::text, :namespace::text, :listenerId::uuid, project.id, :revisionId::uuid, :revisionId::uuid IS NOT NULL,
    :quotaCpuM::bigint, :quotaMemoryMb::bigint, :quotaStorageGi::bigint, :quotaGpus::bigint, 1,
    ${authorSql('1')}, ${nextPollSql(':source::text', ':sourceConfig::jsonb')}
  FROM project
  RETURNING *, NULL::text AS former_status
), ${WRITE_TAIL}`,
);
