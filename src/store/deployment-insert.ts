import type { SourceConfig } from '../domain/deployment.ts';
import { uuidv7 } from '../domain/id.ts';
import type { Transaction } from './database.ts';
import { DEPLOYMENT_COLUMNS, type DeploymentRow, toDeploymentRecord } from './deployment-row.ts';
import { StoreError } from './errors.ts';
import { actorColumns } from './events.ts';
import type { DeploymentRecord, NewDeployment } from './records.ts';
import { type SecretBox, sealSecrets } from './secret-box.ts';

/** Channel of the hint that a listener has work; the payload is the listener's id. */
export const WORK_CHANNEL = 'berth_work';

/** Host of custom_url in lower case; null when there is none. */
export function routeHost(sourceConfig: SourceConfig): string | null {
  return sourceConfig.custom_url !== null && URL.canParse(sourceConfig.custom_url)
    ? new URL(sourceConfig.custom_url).host
    : null;
}

/**
 * Everything that a POST writes, in one round trip: tracing project (a kept one of the same name is linked),
 * deployment, secrets, first revision, event, and the hint for the listener. Foreign keys are checked at its end.
 */
const INSERT = `
WITH project AS (
  INSERT INTO tracing_projects (id, tenant_id, name) VALUES ($2, $1, $4)
  ON CONFLICT (tenant_id, name) DO UPDATE SET name = excluded.name
  RETURNING id
), d AS (
  INSERT INTO deployments (id, tenant_id, name, source, deployment_type, source_config, source_revision_config,
    secrets_id, route_host, image_version, app_name, namespace, listener_id, tracing_project_id,
    latest_revision_id, has_runnable_revision)
  SELECT $3::uuid, $1::uuid, $4::text, $5::text, $6::text, $7::jsonb, $8::jsonb, $9::uuid, $10::text, $11::text,
    $12::text, $13::text, $14::uuid, project.id, $15::uuid, $15::uuid IS NOT NULL
  FROM project
  RETURNING *
), s AS (
  INSERT INTO secret_sets (id, tenant_id, deployment_id, key_id, sealed)
  SELECT $9::uuid, $1::uuid, $3::uuid, $16::text, $17::bytea WHERE $9::uuid IS NOT NULL
  RETURNING id, key_id, sealed
), revision AS (
  INSERT INTO revisions (id, tenant_id, deployment_id, number, status, reason, message, source_revision_config,
    secrets_id, resolved_image)
  SELECT $15::uuid, $1::uuid, $3::uuid, 1, $18::text, $19::text, $20::text, $8::jsonb, $9::uuid, $21::text
  WHERE $15::uuid IS NOT NULL
), event AS (
  INSERT INTO events (id, tenant_id, deployment_id, revision_id, actor_kind, actor_id, actor_name, reason, message)
  VALUES ($22, $1, $3, $15, $23, $24, $25, 'Created', $26)
)
SELECT ${DEPLOYMENT_COLUMNS}, pg_notify('${WORK_CHANNEL}', d.listener_id::text)
FROM d JOIN listeners l ON l.id = d.listener_id LEFT JOIN s ON true`;

/**
 * Makes a deployment with its tracing project, secrets and first revision.
 * @throws UniqueViolation `deployments_name` (the name is taken by one that is not being deleted), `deployments_route_host`;
 *   ReferenceViolation when tenant or listener do not exist
 */
export async function insertDeployment(
  transaction: Transaction,
  box: SecretBox,
  tenantId: string,
  added: NewDeployment,
): Promise<DeploymentRecord> {
  const { revision, sourceConfig } = added;
  const secrets = sealSecrets(box, tenantId, added.id, added.secrets);
  const actor = actorColumns(added.actor);
  const [row] = await transaction.query<DeploymentRow>(INSERT, [
    tenantId,
    uuidv7(),
    added.id,
    added.name,
    added.source,
    sourceConfig.deployment_type,
    JSON.stringify(sourceConfig),
    JSON.stringify(added.sourceRevisionConfig),
    secrets?.id ?? null,
    routeHost(sourceConfig),
    added.imageVersion,
    added.appName,
    added.namespace,
    added.listenerId,
    revision?.id ?? null,
    secrets?.keyId ?? null,
    secrets?.sealed ?? null,
    revision?.status ?? null,
    revision?.reason ?? null,
    revision?.message ?? null,
    revision?.resolvedImage ?? null,
    uuidv7(),
    actor.actorKind,
    actor.actorId,
    actor.actorName,
    `Deployment ${added.name} was created.`,
  ]);
  if (row === undefined)
    throw new StoreError('failed to insert a deployment: no row came back', { retryable: false });
  return toDeploymentRecord(row);
}
