import type { RevisionStatus } from '../../../../domain/revision/states.ts';
import { WORK_CHANNEL } from '../../core/channels.ts';
import { DEPLOYMENT_COLUMNS } from '../../deployments/deployment-row.ts';
import { HISTORY_STATUS } from '../../deployments/status.ts';

/** The parameters of WRITE_TAIL. */
export interface TailParameters {
  /** A new set of secrets; null: secrets_id of the row names an existing set, or no set. */
  setId: string | null;
  setKeyId: string | null;
  setSealed: Buffer | null;
  /** null: no new revision. */
  revisionId: string | null;
  revisionStatus: RevisionStatus | null;
  revisionReason: string | null;
  revisionMessage: string | null;
  resolvedImage: string | null;
  eventId: string;
  actorKind: string;
  actorId: string | null;
  actorName: string | null;
  eventReason: string;
  eventMessage: string;
  /** JSON text. */
  eventDetails: string;
}

/**
 * The end of a statement whose CTE `d` has written the deployment's row, with its `former_status` (null: the deployment
 * is new). This end writes new secrets, the revision, if any, the event and the notification for the listener, and
 * returns the record. The row is new or locked, so max(number) + 1 is safe.
 */
export const WRITE_TAIL = `
added AS (
  INSERT INTO secret_sets (id, tenant_id, deployment_id, key_id, sealed)
  SELECT :setId::uuid, d.tenant_id, d.id, :setKeyId::text, :setSealed::bytea FROM d WHERE :setSealed::bytea IS NOT NULL
  RETURNING key_id, sealed
), revision AS (
  INSERT INTO revisions (id, tenant_id, deployment_id, number, status, reason, message, source_revision_config,
    secrets_id, resolved_image)
  SELECT :revisionId::uuid, d.tenant_id, d.id,
    (SELECT coalesce(max(number), 0) + 1 FROM revisions WHERE deployment_id = d.id),
    :revisionStatus::text, :revisionReason::text, :revisionMessage::text, d.source_revision_config, d.secrets_id,
    :resolvedImage::text
  FROM d WHERE :revisionId::uuid IS NOT NULL
), event AS (
  INSERT INTO events (id, tenant_id, deployment_id, revision_id, actor_kind, actor_id, actor_name, reason, message, details)
  SELECT :eventId::uuid, d.tenant_id, d.id, :revisionId::uuid, :actorKind::text, :actorId::uuid, :actorName::text,
    :eventReason::text, :eventMessage::text,
    :eventDetails::jsonb
      || CASE WHEN d.former_status IS DISTINCT FROM ${HISTORY_STATUS}
        THEN jsonb_build_object('status', jsonb_build_object('from', d.former_status, 'to', ${HISTORY_STATUS})) ELSE '{}' END
      || CASE WHEN :revisionId::uuid IS NOT NULL
        THEN jsonb_build_object('revision_status', jsonb_build_object('from', NULL, 'to', :revisionStatus::text)) ELSE '{}' END
  FROM d JOIN listeners l ON l.id = d.listener_id
)
SELECT ${DEPLOYMENT_COLUMNS}, pg_notify('${WORK_CHANNEL}', d.listener_id::text)
FROM d JOIN listeners l ON l.id = d.listener_id
  LEFT JOIN LATERAL (
    SELECT key_id, sealed FROM added
    UNION ALL
    SELECT key_id, sealed FROM secret_sets WHERE id = d.secrets_id AND :setSealed::bytea IS NULL
  ) s ON true`;
