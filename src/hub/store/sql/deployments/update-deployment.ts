import { statement } from '../../core/statement.ts';
import type { DeploymentRow } from '../../deployments/deployment-row.ts';
import { HISTORY_STATUS } from '../../deployments/status.ts';
import { nextPollSql } from '../fragments/branch-polls.ts';
import { authorSql } from '../fragments/generation-author.ts';
import type { WrittenDeployment } from './insert-deployment.ts';
import { type TailParameters, WRITE_TAIL } from './write-tail.ts';

/**
 * One change of the desired state, in one round trip. The generation is compared and incremented first, so max(number)
 * + 1 is safe, because every other new revision would also have incremented it. Older revisions are not changed,
 * because the cluster decides about them (docs/decisions/0001).
 */
export const updateDeploymentStatement = statement<
  TailParameters &
    WrittenDeployment & {
      expectedGeneration: number;
      secretsId: string | null;
      /** JSON text; null: they do not change. */
      formerSizes: string | null;
    },
  DeploymentRow
>(
  'update_deployment',
  `WITH former AS (
  SELECT d.id AS former_id, ${HISTORY_STATUS} AS former_status
  FROM deployments d JOIN listeners l ON l.id = d.listener_id WHERE d.id = :deploymentId
), d AS (
  UPDATE deployments u SET
    source_config = :sourceConfig, source_revision_config = :sourceRevisionConfig, deployment_type = :deploymentType,
    route_host = :routeHost, image_version = :imageVersion, secrets_id = :secretsId,
    generation = generation + 1, next_attempt_at = now(), attempts = 0, updated_at = now(),
    updated_by = ${authorSql('generation + 1')},
    latest_revision_id = coalesce(:revisionId::uuid, latest_revision_id),
    has_runnable_revision = has_runnable_revision OR :revisionId::uuid IS NOT NULL,
    quota_cpu_m = :quotaCpuM, quota_memory_mb = :quotaMemoryMb, quota_storage_gi = :quotaStorageGi,
    quota_gpus = :quotaGpus, quota_gpus_generation = generation + 1,
    former_sizes = coalesce(:formerSizes::jsonb, former_sizes),
    next_poll_at = ${nextPollSql('u.source', ':sourceConfig::jsonb', 'u.next_poll_at')}
  FROM former
  WHERE id = former_id AND tenant_id = :tenantId AND generation = :expectedGeneration AND delete_requested_at IS NULL
  RETURNING u.*, former_status
), ${WRITE_TAIL}`,
);
