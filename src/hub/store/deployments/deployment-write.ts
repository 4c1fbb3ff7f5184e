import type { Reason } from '../../../domain/conditions/conditions.ts';
import { uuidv7 } from '../../../domain/core/id.ts';
import type { SourceConfig } from '../../../domain/deployment/deployment.ts';
import { type Actor, actorColumns } from '../core/events.ts';
import type { NewRevision, SealedSecrets } from '../core/records.ts';
import { DEPLOYMENT_COLUMNS } from './deployment-row.ts';
import { HISTORY_STATUS } from './status.ts';

/** Code that the statements of POST and of changes share, which write a desired state. */

/** Notification channel for new work. The payload is the listener's id. */
export const WORK_CHANNEL = 'berth_work';

/** Host of custom_url in lower case; null: the deployment has no custom_url. */
export function routeHost(sourceConfig: SourceConfig): string | null {
  return sourceConfig.custom_url !== null && URL.canParse(sourceConfig.custom_url)
    ? new URL(sourceConfig.custom_url).host
    : null;
}

/**
 * The end of a statement whose CTE `d` has written the deployment's row, with its `former_status` (null: the deployment
 * is new). This end writes new secrets, the revision, if any, the event and the notification for the listener, and
 * returns the record. $1 to $15 are `tailValues`. The parameters of the statement itself follow. The row is new or
 * locked, so max(number) + 1 is safe.
 */
export const WRITE_TAIL = `
added AS (
  INSERT INTO secret_sets (id, tenant_id, deployment_id, key_id, sealed)
  SELECT $1::uuid, d.tenant_id, d.id, $2::text, $3::bytea FROM d WHERE $3::bytea IS NOT NULL
  RETURNING key_id, sealed
), revision AS (
  INSERT INTO revisions (id, tenant_id, deployment_id, number, status, reason, message, source_revision_config,
    secrets_id, resolved_image)
  SELECT $4::uuid, d.tenant_id, d.id,
    (SELECT coalesce(max(number), 0) + 1 FROM revisions WHERE deployment_id = d.id),
    $5::text, $6::text, $7::text, d.source_revision_config, d.secrets_id, $8::text
  FROM d WHERE $4::uuid IS NOT NULL
), event AS (
  INSERT INTO events (id, tenant_id, deployment_id, revision_id, actor_kind, actor_id, actor_name, reason, message, details)
  SELECT $9::uuid, d.tenant_id, d.id, $4::uuid, $10::text, $11::uuid, $12::text, $13::text, $14::text,
    $15::jsonb
      || CASE WHEN d.former_status IS DISTINCT FROM ${HISTORY_STATUS}
        THEN jsonb_build_object('status', jsonb_build_object('from', d.former_status, 'to', ${HISTORY_STATUS})) ELSE '{}' END
      || CASE WHEN $4::uuid IS NOT NULL
        THEN jsonb_build_object('revision_status', jsonb_build_object('from', NULL, 'to', $5::text)) ELSE '{}' END
  FROM d JOIN listeners l ON l.id = d.listener_id
)
SELECT ${DEPLOYMENT_COLUMNS}, pg_notify('${WORK_CHANNEL}', d.listener_id::text)
FROM d JOIN listeners l ON l.id = d.listener_id
  LEFT JOIN LATERAL (
    SELECT key_id, sealed FROM added
    UNION ALL
    SELECT key_id, sealed FROM secret_sets WHERE id = d.secrets_id AND $3::bytea IS NULL
  ) s ON true`;

/** The content of the event. */
export interface WriteEvent {
  readonly actor: Actor;
  readonly reason: Reason;
  readonly message: string;
  readonly details?: Record<string, unknown> | undefined;
}

/**
 * Values of $1 to $15 of WRITE_TAIL.
 * @param secrets a new set; null: secrets_id of the row names an existing set, or no set
 */
export function tailValues(
  secrets: SealedSecrets | null,
  revision: NewRevision | null,
  { actor, reason, message, details = {} }: WriteEvent,
): unknown[] {
  const { actorKind, actorId, actorName } = actorColumns(actor);
  return [
    secrets?.id ?? null,
    secrets?.keyId ?? null,
    secrets?.sealed ?? null,
    revision?.id ?? null,
    revision?.status ?? null,
    revision?.reason ?? null,
    revision?.message ?? null,
    revision?.resolvedImage ?? null,
    uuidv7(),
    actorKind,
    actorId,
    actorName,
    reason,
    message,
    JSON.stringify(details),
  ];
}
