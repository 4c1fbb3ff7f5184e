import { statement } from '../../core/statement.ts';
import { requeueWhere, SETTLED } from '../../listeners/requeue-work.ts';

const IS_BUILT = `d.source <> 'external_image' AND EXISTS (
  SELECT FROM revisions r WHERE r.deployment_id = d.id AND r.status IN ('AWAITING_BUILD', 'BUILDING'))`;

/** SQL: whether a deployment (alias `d`) reads its repository with the integration. */
const READS_WITH = `d.source = 'git_host' AND d.tenant_id = :tenantId AND d.source_config ->> 'integration_id' = :integrationId`;

/**
 * Locks the deployments of an integration in any state, because a change in progress, such as a restore, may start a
 * build. The next statement then sees this change.
 */
export const lockReadersStatement = statement<{ tenantId: string; integrationId: string }, { id: string }>(
  'lock_readers',
  `SELECT d.id FROM deployments d WHERE ${READS_WITH} ORDER BY d.id FOR NO KEY UPDATE`,
);

/** Requeues the builds that use an integration. */
export const requeueReadersStatement = statement<
  { tenantId: string; integrationId: string },
  { due: number }
>('requeue_readers', requeueWhere(`${READS_WITH} AND ${IS_BUILT}`));

const RENEWED_AT_ONCE = 200;

/**
 * Requeues a bounded number of builds for which half of the lifetime of the push credentials
 * (hub/api/builds/build-secret.ts) has elapsed. A hand-out sets next_attempt_at to a minute later.
 */
export const requeueOldBuildsStatement = statement<Record<never, never>, { due: number }>(
  'requeue_old_builds',
  requeueWhere(
    `${SETTLED} AND ${IS_BUILT} AND d.next_attempt_at < now() - interval '12 hours'`,
    RENEWED_AT_ONCE,
  ),
);
