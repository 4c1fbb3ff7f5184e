import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { NOTHING_HERE } from '../../../contract/protocol/work-protocol.ts';
import type { BodyIssue } from '../../../domain/core/body-issue.ts';
import type { Logger } from '../../../domain/core/logger.ts';
import {
  ReferenceViolation,
  SecretBoxError,
  StaleWrite,
  StoreContention,
  StoreUnavailable,
} from '../../store/core/errors.ts';

/** Creates every error response of the API. Clients get only the texts of this file. */

declare module 'fastify' {
  interface FastifyContextConfig {
    /** WWW-Authenticate of the 401 of the route; default: ApiKey. */
    challenge?: string;
  }
}

/** The detail for the client. The detail is a sentence, or for 422 and 400 the fields with their errors. */
export type ErrorDetail = string | readonly BodyIssue[];

/** An error with the status and detail of its response. */
export class ApiError extends Error {
  readonly statusCode: number;
  readonly detail: ErrorDetail;
  /** Seconds after which a retry may succeed; null: not sent. */
  readonly retryAfterSeconds: number | null;
  /** Whether the cause is a cluster, a listener or an issuer of tokens that does not respond, not the API. */
  readonly ofCluster: boolean;
  constructor(
    statusCode: number,
    detail: ErrorDetail,
    more: { retryAfterSeconds?: number; ofCluster?: true } = {},
  ) {
    super(typeof detail === 'string' ? detail : `rejected: ${detail.map(({ type }) => type).join(', ')}`);
    this.name = 'ApiError';
    this.statusCode = statusCode;
    this.detail = detail;
    this.retryAfterSeconds = more.retryAfterSeconds ?? null;
    this.ofCluster = more.ofCluster ?? false;
  }
}

const MAX_ISSUES = 100;
const MAX_TEXT = 500;

const cut = (text: string) => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text);

/** The issues of the response, limited in number and length. */
function shown(issues: readonly BodyIssue[]): BodyIssue[] {
  return issues.slice(0, MAX_ISSUES).map(({ loc, msg, type }) => ({
    loc: loc.map((step) => (typeof step === 'string' ? cut(step.toWellFormed()) : step)),
    msg: cut(msg.toWellFormed()),
    type,
  }));
}

/** 422: the shape of a request is invalid. `loc` begins with body, query, path or header. */
export function wrongShape(issues: readonly BodyIssue[]): ApiError {
  return new ApiError(422, shown(issues));
}

/** 400: the shape is valid, but a rule is violated. Locations are below the body. */
export function brokenRules(issues: readonly BodyIssue[]): ApiError {
  return new ApiError(400, shown(issues.map((issue) => ({ ...issue, loc: ['body', ...issue.loc] }))));
}

/** 404. 404: the object is missing, or belongs to another tenant. Both cases get the same response. */
export function notFound(what: string): ApiError {
  return new ApiError(404, `The ${what} does not exist.`);
}

/** 409: the deployment is being deleted, so no other change is possible. */
export function deletionConflict(): ApiError {
  return new ApiError(409, 'The deployment is being deleted (AWAITING_DELETE) and cannot be changed.');
}

/** 409: the listener deletes the volume of the database, so the confirmation cannot be taken back. */
export function volumeRemovalConflict(): ApiError {
  return new ApiError(
    409,
    'The removal of the volume of the database has begun and cannot be taken back. The removal is complete when ' +
      'remove_volume is no longer in source_config.database. Then the database can be switched on, with an empty volume.',
  );
}

const INTERNAL =
  'The request failed because of a server error. Report the X-Request-Id of the response to the administrator of the ' +
  'platform.';
const UNAVAILABLE = 'The service cannot reach its database or is busy. Try again.';
const UNREADABLE =
  'The stored secret values cannot be decrypted. Send all secret values again, or ask the administrator of the ' +
  'platform to configure the key that encrypted them.';
const RETRY_AFTER_SECONDS = 1;
/** Name of the foreign keys to a tenant in all tables. */
const TENANT_KEY = /_tenant_id_tenants_id_fk$/;

/** Errors of fastify before a handler runs, by error code. */
const REFUSED_BY_FASTIFY: Readonly<Record<string, readonly [status: number, detail: string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: [413, 'The body is too large.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [415, 'The body must be application/json.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [400, 'The length of the body differs from the header Content-Length.'],
  FST_ERR_BAD_URL: [400, 'The URL cannot be decoded.'],
  FST_ERR_MAX_PARAM_LENGTH: [414, 'The URL is too long.'],
  FST_ERR_ASYNC_CONSTRAINT: [400, 'The request cannot be routed.'],
};

const REFUSED = 'The request was rejected.';

/** Sentences for errors of fastify's plugins, by status. */
const REFUSALS: Readonly<Record<number, string>> = {
  400: 'The request is malformed.',
  404: NOTHING_HERE,
  408: 'The request did not arrive within the time limit.',
  412: 'A condition in the headers is not met.',
  413: 'The body is too large.',
  414: 'The URL is too long.',
  416: 'The requested range does not exist.',
};

/** 404: no route matches. @param path of the request, without its query */
export function noRoute(path = ''): ApiError {
  const hint = path.length > 1 && path.endsWith('/') ? ' Paths do not end with a slash.' : '';
  return new ApiError(404, `${NOTHING_HERE}${hint}`);
}

/** A client error of fastify or a plugin, mapped by its status alone; null: not a client error. */
function refusedByStatus(error: unknown): ApiError | null {
  const status = (error as Partial<FastifyError> | null | undefined)?.statusCode;
  if (typeof status !== 'number' || !Number.isInteger(status) || status < 400 || status > 499) return null;
  // 404 for a file that may not be read, as for a missing file.
  return status === 403 || status === 404 ? noRoute() : new ApiError(status, REFUSALS[status] ?? REFUSED);
}

/** Maps any error to its response. An unexpected error is a 500 that does not reveal its cause. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof StoreUnavailable || error instanceof StoreContention || error instanceof StaleWrite) {
    return new ApiError(503, UNAVAILABLE, { retryAfterSeconds: RETRY_AFTER_SECONDS });
  }
  // The tenant was deleted after the request was authenticated.
  if (error instanceof ReferenceViolation && TENANT_KEY.test(error.constraint)) return notFound('tenant');
  if (error instanceof SecretBoxError) return new ApiError(409, UNREADABLE);
  const refused = REFUSED_BY_FASTIFY[(error as FastifyError | undefined)?.code ?? ''];
  if (refused !== undefined) return new ApiError(...refused);
  return refusedByStatus(error) ?? new ApiError(500, INTERNAL);
}

const ofCluster = new WeakSet<FastifyRequest>();
/** Whether the request failed because a cluster does not respond. */
export const isOfCluster = (request: FastifyRequest): boolean => ofCluster.has(request);

/**
 * The only error handler. The handler logs errors of the server and responds with the information that the client may
 * know.
 */
export function errorHandler(logger: Logger) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const answer = toApiError(error);
    if (answer.ofCluster) ofCluster.add(request);
    else if (answer.statusCode >= 500 || error instanceof SecretBoxError) {
      const err = error instanceof Error ? error : new Error(String(error));
      const fields = {
        requestId: request.id,
        route: request.routeOptions.url,
        err: err.message,
        stack: err.stack,
      };
      logger.error(fields, 'failed to respond to a request');
    }
    if (answer.retryAfterSeconds !== null) reply.header('retry-after', String(answer.retryAfterSeconds));
    if (answer.statusCode === 401)
      reply.header('www-authenticate', request.routeOptions.config.challenge ?? 'ApiKey');
    reply.code(answer.statusCode).type('application/json; charset=utf-8');
    reply.serializer(JSON.stringify).send({ detail: answer.detail });
  };
}
