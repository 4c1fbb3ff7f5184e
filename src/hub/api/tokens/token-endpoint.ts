import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { POLL_SECONDS } from '../../../domain/access/device-login.ts';
import { uuidSchema } from '../../../domain/deployment/deployment-bodies.ts';
import type { ApiDeps } from '../core/deps.ts';
import { noQuery } from '../core/query.ts';
import type { RateLimiter } from '../core/rate-limit.ts';
import { timeSchema } from '../deployments/deployment-schema.ts';
import { UNOBSERVED } from '../observe/observer.ts';
import { openErrorAnswers } from '../openapi/error-schema.ts';
import { redeemDeviceCode } from './device-exchange.ts';
import { tokenShape } from './token-schema.ts';
import { ExchangeRejected, exchangeToken, type IssuedToken, rejectedToken } from './workload-exchange.ts';

/** `POST /v2/auth/token`: creates access tokens. The fields have the names of RFC 8693 and RFC 8628 (decision 0128). */

const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';
const MAX_SUBJECT_TOKEN = 16_384;
/** Maximum size of a body, in bytes: a token and the other fields. Callers are not authenticated when it is read. */
const BODY_LIMIT = 20 * 1024;

const bodySchema = z
  .strictObject({
    grant_type: z
      .enum([TOKEN_EXCHANGE, DEVICE_CODE])
      .describe(
        'token-exchange: for the token of a pipeline. device_code: for a login that a person confirms.',
      ),
    subject_token: z
      .string()
      .min(1)
      .max(MAX_SUBJECT_TOKEN)
      .optional()
      .describe('The OIDC token of the pipeline or service account. Required for token-exchange.'),
    tenant_id: uuidSchema
      .optional()
      .describe(
        'The tenant to act for, if the token meets rules of several tenants. Default: that of the first rule.',
      ),
    device_code: z
      .string()
      .min(1)
      .max(128)
      .optional()
      .describe('The device code of POST /v2/auth/device. Required for device_code.'),
  })
  .superRefine((body, ctx) => {
    const wanted = body.grant_type === TOKEN_EXCHANGE ? 'subject_token' : 'device_code';
    const other = wanted === 'subject_token' ? 'device_code' : 'subject_token';
    if (body[wanted] === undefined)
      ctx.addIssue({ code: 'custom', path: [wanted], message: 'is required for this grant_type' });
    if (body[other] !== undefined)
      ctx.addIssue({ code: 'custom', path: [other], message: 'does not belong to this grant_type' });
  })
  .meta({ id: 'CreateAccessToken', description: 'What is exchanged for an access token.' });

const issuedSchema = z
  .object({
    access_token: z
      .string()
      .describe(
        'The token, for `Authorization: Bearer`. The token is sent only once, because Berth stores only its hash.',
      ),
    token_type: z.literal('Bearer').describe('How the token is sent.'),
    expires_in: z.int().describe('Lifetime in seconds.'),
    id: tokenShape.id,
    tenant_id: tokenShape.tenant_id,
    roles: tokenShape.roles,
    expires_at: timeSchema.describe('Expiry time.'),
  })
  .meta({ id: 'IssuedAccessToken', description: 'A new access token.' });

function present({ token, accessToken }: IssuedToken): z.infer<typeof issuedSchema> {
  const { id, tenantId, roles, createdAt, expiresAt } = accessToken;
  return {
    access_token: token,
    token_type: 'Bearer',
    expires_in: Math.round((expiresAt.getTime() - createdAt.getTime()) / 1000),
    id,
    tenant_id: tenantId,
    roles,
    expires_at: expiresAt.toISOString(),
  };
}

const DESCRIPTION = `Creates an access token, without an API key.

- \`token-exchange\`: for the OIDC token of a pipeline or a service account (docs/sign-in.md). The token must meet a rule of \`access.workload_issuers\` of the policy, which gives it a tenant, roles and a lifetime of at most 15 minutes.
- \`device_code\`: for a login that a person confirms in a browser. Poll every ${POLL_SECONDS} seconds. While the person has not decided, and when the login has failed, the status is 400, and \`type\` of the only error is \`authorization_pending\`, \`slow_down\` (increase the interval by 5 seconds), \`access_denied\`, \`expired_token\` or \`invalid_grant\`.

Scope: none.`;

export function tokenEndpoint(app: FastifyInstance, deps: ApiDeps, limiter: RateLimiter): void {
  const { observer = UNOBSERVED, logger } = deps;

  async function exchange(request: FastifyRequest, subjectToken: string, tenantId: string | null) {
    try {
      const issued = await exchangeToken(deps, limiter, { subjectToken, tenantId });
      observer.exchanged('issued');
      return issued;
    } catch (error) {
      if (!(error instanceof ExchangeRejected)) throw error;
      observer.exchanged('rejected');
      limiter.failure(request);
      // After the limit, so that a caller without a credential cannot fill the log.
      const { rejection, issuer } = error;
      logger.warn(
        { requestId: request.id, rejection, issuer },
        'failed to exchange the token of a workload; next: docs/sign-in.md#when-it-fails',
      );
      throw rejectedToken(rejection, deps.publicUrl);
    }
  }

  app.withTypeProvider<ZodTypeProvider>().post(
    '/v2/auth/token',
    {
      config: { access: 'public' },
      bodyLimit: BODY_LIMIT,
      schema: {
        tags: ['sign-in'],
        summary: 'Create an access token',
        description: DESCRIPTION,
        querystring: noQuery,
        body: bodySchema,
        response: { 200: issuedSchema, ...openErrorAnswers(400, 409, 413, 415, 422, 429, 503) },
      },
    },
    async (request, reply) => {
      // The route is public, but its responses must not be cached.
      reply.header('cache-control', 'no-store');
      const { subject_token: subjectToken, device_code: deviceCode = '', tenant_id: tenantId } = request.body;
      return present(
        subjectToken === undefined
          ? await redeemDeviceCode(deps, limiter, request, deviceCode)
          : await exchange(request, subjectToken, tenantId ?? null),
      );
    },
  );
}
