import { uuidv7 } from '../domain/id.ts';
import type { Transaction } from './database.ts';
import { routeHost, WORK_CHANNEL } from './deployment-insert.ts';
import { DEPLOYMENT_COLUMNS, type DeploymentRow, toDeploymentRecord } from './deployment-row.ts';
import { StaleWrite } from './errors.ts';
import { actorColumns } from './events.ts';
import type { DeploymentRecord, WantedChange } from './records.ts';
import { type SecretBox, sealSecrets } from './secret-box.ts';

/**
 * One change of what is wanted, in one round trip. The generation is compared and raised first, so max(number) + 1 is
 * safe: every other revision would have raised it too. Older revisions are left alone: what became of them is for the
 * cluster to say (docs/decisions/0001).
 */
const UPDATE = `
WITH d AS (
  UPDATE deployments SET
    source_config = $4, source_revision_config = $5, deployment_type = $6, route_host = $7, image_version = $8,
    secrets_id = $9, generation = generation + 1, next_attempt_at = now(), attempts = 0, updated_at = now(),
    latest_revision_id = coalesce($10::uuid, latest_revision_id),
    has_runnable_revision = has_runnable_revision OR $10::uuid IS NOT NULL
  WHERE id = $2 AND tenant_id = $1 AND generation = $3 AND delete_requested_at IS NULL
  RETURNING *
), added AS (
  INSERT INTO secret_sets (id, tenant_id, deployment_id, key_id, sealed)
  SELECT $9::uuid, d.tenant_id, d.id, $11::text, $12::bytea FROM d WHERE $12::bytea IS NOT NULL
  RETURNING id, key_id, sealed
), revision AS (
  INSERT INTO revisions (id, tenant_id, deployment_id, number, status, reason, message, source_revision_config,
    secrets_id, resolved_image)
  SELECT $10::uuid, d.tenant_id, d.id,
    (SELECT coalesce(max(number), 0) + 1 FROM revisions WHERE deployment_id = d.id),
    $13::text, $14::text, $15::text, d.source_revision_config, d.secrets_id, $16::text
  FROM d WHERE $10::uuid IS NOT NULL
), event AS (
  INSERT INTO events (id, tenant_id, deployment_id, revision_id, actor_kind, actor_id, actor_name, reason, message, details)
  SELECT $17::uuid, d.tenant_id, d.id, $10::uuid, $18::text, $19::uuid, $20::text, 'Patched', $21::text, $22::jsonb FROM d
)
SELECT ${DEPLOYMENT_COLUMNS}, pg_notify('${WORK_CHANNEL}', d.listener_id::text)
FROM d JOIN listeners l ON l.id = d.listener_id
  LEFT JOIN LATERAL (
    SELECT key_id, sealed FROM added
    UNION ALL
    SELECT key_id, sealed FROM secret_sets WHERE id = d.secrets_id AND $12::bytea IS NULL
  ) s ON true`;

/**
 * Writes what is wanted from now on: raises the generation, and makes the revision if one is given.
 * @throws StaleWrite when the generation is no longer the expected one or deletion was asked for; UniqueViolation
 *   `deployments_route_host`
 */
export async function updateWanted(
  transaction: Transaction,
  box: SecretBox,
  tenantId: string,
  deploymentId: string,
  change: WantedChange,
): Promise<DeploymentRecord> {
  const { revision, secrets, sourceConfig } = change;
  const sealed = secrets.kind === 'values' ? sealSecrets(box, tenantId, deploymentId, secrets.secrets) : null;
  const actor = actorColumns(change.actor);
  const [row] = await transaction.query<DeploymentRow>(UPDATE, [
    tenantId,
    deploymentId,
    change.expectedGeneration,
    JSON.stringify(sourceConfig),
    JSON.stringify(change.sourceRevisionConfig),
    sourceConfig.deployment_type,
    routeHost(sourceConfig),
    change.imageVersion,
    secrets.kind === 'set' ? secrets.id : (sealed?.id ?? null),
    revision?.id ?? null,
    sealed?.keyId ?? null,
    sealed?.sealed ?? null,
    revision?.status ?? null,
    revision?.reason ?? null,
    revision?.message ?? null,
    revision?.resolvedImage ?? null,
    uuidv7(),
    actor.actorKind,
    actor.actorId,
    actor.actorName,
    change.message,
    JSON.stringify(change.details ?? {}),
  ]);
  if (row === undefined) throw new StaleWrite(`deployment ${deploymentId}`);
  return toDeploymentRecord(row);
}
