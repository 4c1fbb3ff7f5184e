import { statement } from '../../core/statement.ts';

/** Records that an upload is being sent. No row: the same upload is being removed. */
export const beginUploadStatement = statement<
  { deploymentId: string; tenantId: string; digest: string; bytes: number },
  { stored: boolean; begunAt: string }
>(
  'begin_upload',
  `INSERT INTO uploads (deployment_id, tenant_id, digest, bytes) VALUES (:deploymentId, :tenantId, :digest, :bytes)
ON CONFLICT (deployment_id, digest) DO UPDATE SET sent_at = now(),
  bytes = CASE WHEN uploads.stored THEN uploads.bytes ELSE EXCLUDED.bytes END
WHERE NOT uploads.removing
RETURNING stored, sent_at::text AS "begunAt"`,
);
