import type { Transaction } from '../core/database.ts';
import { StaleWrite } from '../core/errors.ts';
import type { DeploymentRecord, DesiredChange } from '../core/records.ts';
import { type SecretBox, sealSecrets } from '../secrets/secret-box.ts';
import { nextPollSql } from '../sql/fragments/branch-polls.ts';
import { type DeploymentRow, toDeploymentRecord } from './deployment-row.ts';
import { routeHost, tailValues, WRITE_TAIL } from './deployment-write.ts';
import { claimHost, reserveHosts } from './host-reservations.ts';
import { HISTORY_STATUS } from './status.ts';

/**
 * One change of the desired state, in one round trip. The generation is compared and incremented first, so max(number)
 * + 1 is safe, because every other new revision would also have incremented it. Older revisions are not changed,
 * because the cluster decides about them (docs/decisions/0001).
 */
const UPDATE = `
WITH former AS (
  SELECT d.id AS former_id, ${HISTORY_STATUS} AS former_status
  FROM deployments d JOIN listeners l ON l.id = d.listener_id WHERE d.id = $17
), d AS (
  UPDATE deployments u SET
    source_config = $19, source_revision_config = $20, deployment_type = $21, route_host = $22, image_version = $23,
    secrets_id = $24, generation = generation + 1, next_attempt_at = now(), attempts = 0, updated_at = now(),
    latest_revision_id = coalesce($4::uuid, latest_revision_id),
    has_runnable_revision = has_runnable_revision OR $4::uuid IS NOT NULL,
    quota_cpu_m = $25, quota_memory_mb = $26, quota_storage_gi = $27,
    former_sizes = coalesce($28::jsonb, former_sizes),
    next_poll_at = ${nextPollSql('u.source', '$19::jsonb', 'u.next_poll_at')}
  FROM former
  WHERE id = former_id AND tenant_id = $16 AND generation = $18 AND delete_requested_at IS NULL
  RETURNING u.*, former_status
), ${WRITE_TAIL}`;

/**
 * Writes the new desired state. Increments the generation and creates the revision, if any.
 * @throws StaleWrite when the generation is no longer the expected generation or the deployment is being deleted;
 *   UniqueViolation `deployments_route_host`, `leaving_hosts_pkey`, `kept_hosts_pkey`
 */
export async function updateDesiredState(
  transaction: Transaction,
  box: SecretBox,
  tenantId: string,
  deploymentId: string,
  change: DesiredChange,
): Promise<DeploymentRecord> {
  const { revision, secrets, sourceConfig } = change;
  const sealed = secrets.kind === 'values' ? sealSecrets(box, tenantId, deploymentId, secrets.secrets) : null;
  const host = routeHost(sourceConfig);
  const former = await formerHost(transaction, tenantId, deploymentId);
  const [row] = await transaction.query<DeploymentRow>(UPDATE, [
    ...tailValues(sealed, revision, { ...change, reason: change.reason ?? 'Patched' }),
    tenantId,
    deploymentId,
    change.expectedGeneration,
    JSON.stringify(sourceConfig),
    JSON.stringify(change.sourceRevisionConfig),
    sourceConfig.deployment_type,
    host,
    change.imageVersion,
    secrets.kind === 'set' ? secrets.id : (sealed?.id ?? null),
    change.usage?.cpuM ?? null,
    change.usage?.memoryMb ?? null,
    change.usage?.storageGi ?? null,
    change.formerSizes === undefined ? null : JSON.stringify(change.formerSizes),
  ]);
  if (row === undefined) throw new StaleWrite(`deployment ${deploymentId}`);
  if (host !== former) {
    if (former !== null) await reserveHosts(transaction, tenantId, [deploymentId], former);
    await claimHost(transaction, tenantId, deploymentId, host);
  }
  return toDeploymentRecord(row);
}

/** The caller has locked the row. If the caller has not locked the row, the write detects a changed generation. */
async function formerHost(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
): Promise<string | null> {
  const [row] = await transaction.query<{ route_host: string | null }>(
    'SELECT route_host FROM deployments WHERE tenant_id = $1 AND id = $2',
    [tenantId, deploymentId],
  );
  return row?.route_host ?? null;
}
