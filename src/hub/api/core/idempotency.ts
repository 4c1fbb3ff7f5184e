import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { canonicalJson } from '../../../domain/core/hash.ts';
import type { Transaction } from '../../store/core/database.ts';
import { claimIdempotencyKey, type IdempotentAnswer } from '../../store/core/idempotency.ts';
import type { ApiDeps } from './deps.ts';
import { ApiError, wrongShape } from './errors.ts';

/** Requests with an Idempotency-Key. */

/** The header of a request that creates an object. */
export const idempotencyKeyHeader = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, 'must consist of 1 to 255 printable characters without spaces')
  .optional();

/**
 * Rejects the header on routes that do not support it, because a client that sends it relies on it. @throws ApiError
 * 422
 */
export function rejectUnsupportedKey(request: FastifyRequest): void {
  if (request.method !== 'POST' || request.headers['idempotency-key'] === undefined || request.is404) return;
  const { headers } = request.routeOptions.schema ?? {};
  if (headers instanceof z.ZodObject && 'idempotency-key' in headers.shape) return;
  throw wrongShape([
    {
      loc: ['header', 'Idempotency-Key'],
      msg: 'is not supported by this operation: omit it, and check the result before you repeat a request',
      type: 'not_supported',
    },
  ]);
}

export interface IdempotentCall {
  readonly tenantId: string;
  /** null: the request has no key. */
  readonly idempotencyKey: string | null;
  /** Method and path of the request. */
  readonly operation: string;
  readonly body: unknown;
}

/**
 * Normalizes a body, because null and absent are equal in the body of a POST. A client that serializes the body again
 * may use the other form.
 */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const given = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(given.map(([name, member]) => [name, withoutNulls(member)]));
}

/**
 * Finds the result of an earlier request with the same key; null: this is the first request, and `answer` is the id
 * that it will create. Must be called before the first write or lock.
 * @throws ApiError 409 when the key was used with another body
 */
export async function earlierAnswer(
  deps: Pick<ApiDeps, 'secretBox'>,
  transaction: Transaction,
  { tenantId, idempotencyKey: key, operation, body }: IdempotentCall,
  answer: IdempotentAnswer,
): Promise<IdempotentAnswer | null> {
  if (key === null) return null;
  const request = { key, operation, body: canonicalJson(withoutNulls(body)) };
  const outcome = await claimIdempotencyKey(transaction, deps.secretBox, tenantId, request, answer);
  if (outcome.kind === 'other_body')
    throw new ApiError(409, 'The Idempotency-Key was used with another body.');
  // guard: idempotency-key
  if (outcome.kind === 'repeated') return outcome.answer;
  return null;
}

/** 409: an earlier request with the same key created the object, which has been deleted since then. */
export function createdAndDeleted(what: string): ApiError {
  return new ApiError(409, `The ${what} that was created with this Idempotency-Key has been deleted.`);
}
