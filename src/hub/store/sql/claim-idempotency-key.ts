import { statement } from '../core/statement.ts';

/** Claims a key for the response that the transaction will create. No row: another response has the key. */
export const claimIdempotencyKeyStatement = statement<
  {
    tenantId: string;
    key: string;
    operation: string;
    fingerprint: string;
    statusCode: number;
    deploymentId: string;
    revisionId: string | null;
  },
  object
>(
  'claim_idempotency_key',
  `INSERT INTO idempotency_keys AS k (tenant_id, key, operation, fingerprint, status_code, deployment_id, revision_id, expires_at)
VALUES (:tenantId, :key, :operation, :fingerprint, :statusCode, :deploymentId, :revisionId, now() + interval '24 hours')
ON CONFLICT (tenant_id, key, operation) DO UPDATE SET fingerprint = excluded.fingerprint,
  status_code = excluded.status_code, deployment_id = excluded.deployment_id,
  revision_id = excluded.revision_id,
  created_at = now(), expires_at = excluded.expires_at
WHERE k.expires_at <= now()
RETURNING 1`,
);
