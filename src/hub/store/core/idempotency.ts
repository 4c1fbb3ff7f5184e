import type { SecretBox } from '../secrets/secret-box.ts';
import { claimIdempotencyKeyStatement } from '../sql/claim-idempotency-key.ts';
import type { Transaction } from './database.ts';
import { and, eq } from './drizzle.ts';
import { idempotencyKeys } from './schema.ts';

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
  const { key, operation } = request;
  const claimed = await transaction.run(claimIdempotencyKeyStatement, {
    tenantId,
    key,
    operation,
    fingerprint: box.fingerprint(request.body),
    statusCode: answer.statusCode,
    deploymentId: answer.deploymentId,
    revisionId: answer.revisionId ?? null,
  });
  if (claimed.length > 0) return { kind: 'first' };
  const { fingerprint, statusCode, deploymentId, revisionId } = idempotencyKeys;
  const [known] = await transaction.drizzle
    .select({ fingerprint, answer: { statusCode, deploymentId, revisionId } })
    .from(idempotencyKeys)
    .where(
      and(
        eq(idempotencyKeys.tenantId, tenantId),
        eq(idempotencyKeys.key, key),
        eq(idempotencyKeys.operation, operation),
      ),
    );
  if (known === undefined || !box.matches(request.body, known.fingerprint)) return { kind: 'other_body' };
  return { kind: 'repeated', answer: known.answer };
}
