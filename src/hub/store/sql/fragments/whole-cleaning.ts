import { UPLOAD_MS } from '../../../../domain/uploads/upload.ts';

/** Seconds after which no upload that had begun can be stored any more: the maximum duration, and some for its last calls. */
const UPLOAD_SECONDS = UPLOAD_MS / 1000 + 120;

/**
 * SQL that requests the removal of all images and uploads of deployments from the platform's registry. While an upload is being
 * sent, the removal waits for its end, because what is stored after the removal would stay.
 * @param from SQL of the deployments, with the columns of tombstones
 */
export const cleanWhole = (from: string) => `
INSERT INTO repository_cleanings (deployment_id, tenant_id, app_name, whole, next_attempt_at)
SELECT id, tenant_id, app_name, true, coalesce((SELECT max(u.sent_at) + interval '${UPLOAD_SECONDS} seconds' FROM uploads u
  WHERE u.deployment_id = id AND NOT u.stored AND u.sent_at > now() - interval '${UPLOAD_SECONDS} seconds'), now())
FROM ${from}
ON CONFLICT (deployment_id) DO UPDATE SET whole = true, attempts = repository_cleanings.attempts + 1,
  next_attempt_at = EXCLUDED.next_attempt_at`;
