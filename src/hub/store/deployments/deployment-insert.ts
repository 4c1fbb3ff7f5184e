import { uuidv7 } from '../../../domain/core/id.ts';
import type { Transaction } from '../core/database.ts';
import { StoreError } from '../core/errors.ts';
import type { DeploymentRecord, NewDeployment } from '../core/records.ts';
import { type SecretBox, sealSecrets } from '../secrets/secret-box.ts';
import { nextPollSql } from '../sql/fragments/branch-polls.ts';
import { rejectOtherSpellings } from './deployment-name.ts';
import { type DeploymentRow, toDeploymentRecord } from './deployment-row.ts';
import { routeHost, tailValues, WRITE_TAIL } from './deployment-write.ts';
import { claimHost } from './host-reservations.ts';

/**
 * All writes of a POST, in one round trip: the tracing project (an existing project of the same name is reused), the
 * deployment, and the writes of WRITE_TAIL. Foreign keys are checked at the end of the statement.
 */
const INSERT = `
WITH project AS (
  INSERT INTO tracing_projects (id, tenant_id, name) VALUES ($17, $16, $19)
  ON CONFLICT (tenant_id, name) DO UPDATE SET name = excluded.name
  RETURNING id
), d AS (
  INSERT INTO deployments (id, tenant_id, name, source, deployment_type, source_config, source_revision_config,
    secrets_id, route_host, image_version, app_name, namespace, listener_id, tracing_project_id,
    latest_revision_id, has_runnable_revision, quota_cpu_m, quota_memory_mb, quota_storage_gi,
    next_poll_at)
  SELECT $18::uuid, $16::uuid, $19::text, $20::text, $21::text, $22::jsonb, $23::jsonb, $1::uuid, $24::text, $25::text,
    $26::text, $27::text, $28::uuid, project.id, $4::uuid, $4::uuid IS NOT NULL,
    $29::bigint, $30::bigint, $31::bigint, ${nextPollSql('$20::text', '$22::jsonb')}
  FROM project
  RETURNING *, NULL::text AS former_status
), ${WRITE_TAIL}`;

/**
 * Creates a deployment with its tracing project, secrets and first revision.
 * @throws UniqueViolation `deployments_name` (a deployment that is not being deleted has the name, in any spelling),
 *   `deployments_route_host`, `leaving_hosts_pkey`, `kept_hosts_pkey`; ReferenceViolation when tenant or listener do not
 *   exist
 */
export async function insertDeployment(
  transaction: Transaction,
  box: SecretBox,
  tenantId: string,
  added: NewDeployment,
): Promise<DeploymentRecord> {
  const { revision, sourceConfig } = added;
  await rejectOtherSpellings(transaction, tenantId, added.name);
  const secrets = sealSecrets(box, tenantId, added.id, added.secrets);
  const event = {
    actor: added.actor,
    reason: 'Created',
    message: `Deployment ${added.name} was created.`,
  } as const;
  const [row] = await transaction.query<DeploymentRow>(INSERT, [
    ...tailValues(secrets, revision, event),
    tenantId,
    uuidv7(),
    added.id,
    added.name,
    added.source,
    sourceConfig.deployment_type,
    JSON.stringify(sourceConfig),
    JSON.stringify(added.sourceRevisionConfig),
    routeHost(sourceConfig),
    added.imageVersion,
    added.appName,
    added.namespace,
    added.listenerId,
    added.usage?.cpuM ?? null,
    added.usage?.memoryMb ?? null,
    added.usage?.storageGi ?? null,
  ]);
  if (row === undefined)
    throw new StoreError('failed to insert a deployment: the statement returned no row', {
      retryable: false,
    });
  await claimHost(transaction, tenantId, added.id, routeHost(sourceConfig));
  return toDeploymentRecord(row);
}
