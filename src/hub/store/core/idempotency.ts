import type { SecretBox } from '../secrets/secret-box.ts';
import type { Transaction } from './database.ts';

/** The properties that identify a request with an Idempotency-Key. */
export interface IdempotentRequest {
  key: string;
  /** Method and path, such as `POST /v2/deployments`. */
  operation: string;
  /** The body in a canonical form. Only a keyed hash of the body is stored. */
  body: string;
}

/** The result of the first request, to render its response again. */
export interface IdempotentAnswer {
  statusCode: number;
  deploymentId: string;
  /** The revision, if the response contained a revision. */
  revisionId?: string | null;
}

export type IdempotencyOutcome =
  | { readonly kind: 'first' }
  | { readonly kind: 'repeated'; readonly answer: IdempotentAnswer }
  | { readonly kind: 'other_body' };

const RESERVE = `
INSERT INTO idempotency_keys AS k (tenant_id, key, operation, fingerprint, status_code, deployment_id, revision_id, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, now() + interval '24 hours')
ON CONFLICT (tenant_id, key, operation) DO UPDATE SET fingerprint = excluded.fingerprint,
  status_code = excluded.status_code, deployment_id = excluded.deployment_id,
  revision_id = excluded.revision_id,
  created_at = now(), expires_at = excluded.expires_at
WHERE k.expires_at <= now()
RETURNING 1`;

const FIND = `
SELECT fingerprint, status_code, deployment_id, revision_id FROM idempotency_keys
WHERE tenant_id = $1 AND key = $2 AND operation = $3`;

/**
 * Claims an Idempotency-Key for the response that this transaction will create. A commit stores the response for 24
 * hours. A rollback frees the key. A concurrent request with the same key waits until the first request has ended. Must
 * be called before any other write.
 */
export async function claimIdempotencyKey(
  transaction: Transaction,
  box: SecretBox,
  tenantId: string,
  request: IdempotentRequest,
  answer: IdempotentAnswer,
): Promise<IdempotencyOutcome> {
  const identity = [tenantId, request.key, request.operation];
  const claimed = await transaction.query(RESERVE, [
    ...identity,
    box.fingerprint(request.body),
    answer.statusCode,
    answer.deploymentId,
    answer.revisionId ?? null,
  ]);
  if (claimed.length > 0) return { kind: 'first' };
  const [known] = await transaction.query<{
    fingerprint: string;
    status_code: number;
    deployment_id: string;
    revision_id: string | null;
  }>(FIND, identity);
  if (known === undefined || !box.matches(request.body, known.fingerprint)) return { kind: 'other_body' };
  return {
    kind: 'repeated',
    answer: {
      statusCode: known.status_code,
      deploymentId: known.deployment_id,
      revisionId: known.revision_id,
    },
  };
}
