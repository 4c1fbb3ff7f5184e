import type { DeploymentStatus } from '../../../../domain/revision/states.ts';
import { WORK_CHANNEL } from '../../core/channels.ts';
import { deployments } from '../../core/schema.ts';
import { type Columns, columns, statement } from '../../core/statement.ts';
import { HISTORY_STATUS } from '../../deployments/status.ts';
import { nextPollSql } from '../fragments/branch-polls.ts';
import { authorSql } from '../fragments/generation-author.ts';
import { WITHIN_GRACE } from '../fragments/grace-period.ts';

/** Cancels a deletion within the grace period. */
export const restoreDeploymentStatement = statement<
  {
    tenantId: string;
    deploymentId: string;
    actorKind: string;
    actorId: string | null;
    actorName: string | null;
  },
  Columns<typeof deployments, 'name' | 'sourceConfig'> & { historyStatus: DeploymentStatus }
>(
  'restore_deployment',
  `UPDATE deployments d SET delete_requested_at = NULL, purge_after = NULL, delete_tracing_project = false,
  keep_workloads = false, generation = generation + 1, quota_gpus_generation = quota_gpus_generation + 1,
  next_attempt_at = now(), attempts = 0, updated_at = now(),
  updated_by = ${authorSql('generation + 1')},
  next_poll_at = ${nextPollSql('source', 'source_config')}
WHERE id = :deploymentId AND tenant_id = :tenantId AND ${WITHIN_GRACE}
RETURNING ${columns(deployments, 'd', ['name', 'sourceConfig'])},
  (SELECT ${HISTORY_STATUS} FROM listeners l WHERE l.id = d.listener_id) AS "historyStatus",
  pg_notify('${WORK_CHANNEL}', listener_id::text)`,
);
