import { statement } from '../../core/statement.ts';
import { REDELIVER_SECONDS } from '../fragments/redelivery.ts';

/** An item that is handed out, or that cannot be rendered now. */
export interface HandedOut {
  /** The deployment. */
  readonly id: string;
  /** null: unchanged. */
  readonly specHash: string | null;
  /** The revision that starts with the item. */
  readonly revisionId: string | null;
  /** The event of this transition. */
  readonly eventId: string;
}

/**
 * Records items that are handed out. The statement also filters the written rows by id. Without this filter, the planner
 * would assume a hundred rows for a recordset, and scan whole tables.
 */
export const handOutStatement = statement<{
  /** JSON of HandedOut[]. */
  items: string;
  listenerId: string;
  deploymentIds: readonly string[];
  revisionIds: readonly string[];
}>(
  'hand_out',
  `WITH given AS (
  SELECT * FROM jsonb_to_recordset(:items::jsonb) AS given(id uuid, "specHash" text, "revisionId" uuid, "eventId" uuid)
), deployment AS (
  UPDATE deployments d SET spec_hash = coalesce(given."specHash", d.spec_hash), attempts = d.attempts + 1,
    handed_out = true, next_attempt_at = least(now() + make_interval(secs => ${REDELIVER_SECONDS}),
      CASE WHEN d.purge_after > now() THEN d.purge_after END)
  FROM given WHERE d.id = given.id AND d.id = ANY(:deploymentIds::uuid[])
), revision AS (
  UPDATE revisions r SET status = 'AWAITING_DEPLOY', reason = 'Reconciling', message = 'It was handed to the listener.',
    updated_at = now()
  FROM given WHERE r.id = given."revisionId" AND r.id = ANY(:revisionIds::uuid[]) AND r.status = 'QUEUED'
  RETURNING r.id, r.tenant_id, r.deployment_id, r.number, given."eventId"
)
INSERT INTO events (id, tenant_id, deployment_id, revision_id, actor_kind, actor_id, reason, message, details)
SELECT "eventId", tenant_id, deployment_id, id, 'listener', :listenerId::uuid, 'Reconciling',
  format('Revision %s is AWAITING_DEPLOY: it was handed to the listener.', number),
  '{"from": "QUEUED", "to": "AWAITING_DEPLOY"}'::jsonb
FROM revision`,
);
