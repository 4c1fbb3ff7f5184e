import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { DEVICE_LOGIN_SECONDS, POLL_SECONDS } from '../../../domain/access/device-login.ts';
import { cookieSettings, prefixOf } from '../../../domain/access/session-cookie.ts';
import { nameSchema } from '../../../domain/core/name.ts';
import { uuidSchema } from '../../../domain/deployment/deployment-bodies.ts';
import { line } from '../../../domain/kubernetes/text.ts';
import { UniqueViolation } from '../../store/core/errors.ts';
import { type NewDeviceLogin, startDeviceLogin } from '../../store/tokens/device-logins.ts';
import type { ApiDeps } from '../core/deps.ts';
import { ApiError } from '../core/errors.ts';
import { noQuery } from '../core/query.ts';
import { timeSchema } from '../deployments/deployment-schema.ts';
import { UNOBSERVED } from '../observe/observer.ts';
import { openErrorAnswers } from '../openapi/error-schema.ts';
import type { SignInRoutes } from '../sign-in/signed-in.ts';
import { decideLogin, offersFor, requirePerson, waitingLogin } from './device-logins.ts';
import { DEVICE_PAGE } from './device-page.ts';
import { roleSchema } from './token-schema.ts';

/** `/v2/auth/device`: the device grant (RFC 8628) of `berth login`. */

const PUBLIC = { access: 'public' } as const;
const SESSION = [{ session: [] }];
const BODY_LIMIT = 4096;
const RETRY_AFTER_SECONDS = 60;

const startSchema = z
  .strictObject({
    machine: nameSchema.describe('Name of the machine, which the person compares.'),
    tenant: line(512).min(1).optional().describe('Name or id of the tenant to propose to the person.'),
    role: roleSchema.optional().describe('Role to propose to the person. Default: the roles of the person.'),
  })
  .meta({ id: 'StartDeviceLogin', description: 'The machine that wants to log in.' });

const startedSchema = z
  .object({
    device_code: z.string().describe('Secret of the device, for POST /v2/auth/token.'),
    user_code: z.string().describe('Code that the person enters, such as WDJB-MJHT.'),
    verification_uri: z.string().describe('Page on which the person enters the code.'),
    expires_in: z.int().describe('Time in seconds within which the person must confirm.'),
    interval: z.int().describe('Minimum time between two polls, in seconds.'),
  })
  .meta({ id: 'StartedDeviceLogin', description: 'A login that waits for a person.' });

const offerSchema = z
  .object({
    tenant_id: uuidSchema.nullable().describe('Id of the tenant. null: the platform.'),
    tenant_name: z.string().describe('Name of the tenant.'),
    roles: z.array(roleSchema).describe('Roles that the person can give.'),
  })
  .meta({ id: 'DeviceLoginOffer', description: 'A tenant that the person can choose.' });

const loginSchema = z
  .object({
    user_code: z.string().describe('The code.'),
    machine: z.string().describe('Name of the machine, as the machine states it.'),
    address: z.string().describe('Address from which the login was started.'),
    requested_tenant: z
      .string()
      .nullable()
      .describe('Name or id of the tenant that the machine asks for. null: none.'),
    requested_role: roleSchema.nullable().describe('The role that the machine asks for. null: none.'),
    offers: z.array(offerSchema).describe('What the person can choose. The requested tenant is the first.'),
    created_at: timeSchema.describe('Time of the start.'),
    expires_at: timeSchema.describe('Time until which the person must decide.'),
  })
  .meta({ id: 'DeviceLogin', description: 'A login that waits for a decision.' });

const decisionSchema = z
  .strictObject({
    decision: z.enum(['approve', 'deny']).describe('approve: the machine gets a token.'),
    tenant_id: uuidSchema
      .nullable()
      .optional()
      .describe('The tenant of the token. null: the platform. Required to approve.'),
    roles: z
      .array(roleSchema)
      .min(1)
      .optional()
      .describe('Roles of the token. Default: the roles of the person in the tenant.'),
  })
  .superRefine(({ decision, tenant_id: tenantId }, ctx) => {
    if (decision === 'approve' && tenantId === undefined)
      ctx.addIssue({ code: 'custom', path: ['tenant_id'], message: 'is required to approve a login' });
  })
  .meta({ id: 'DecideDeviceLogin', description: 'The decision of the person.' });

const params = z.strictObject({
  user_code: z.string().max(32).describe('The code, in any case, with or without the dash.'),
});

const MAX_ATTEMPTS = 3;

/** Another attempt has another code. */
async function start({ database }: ApiDeps, added: NewDeviceLogin) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await database.platform.transaction((transaction) => startDeviceLogin(transaction, added));
    } catch (error) {
      if (!(error instanceof UniqueViolation) || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

/** Base of the pages, from BERTH_PUBLIC_URL. @throws ApiError 409 when people cannot sign in */
function pageUrl({ publicUrl, signIn }: ApiDeps): string {
  const settings = cookieSettings(publicUrl);
  if (publicUrl === null || settings === null || signIn?.provider == null)
    throw new ApiError(
      409,
      'No identity provider is configured, so no person can confirm a login. Use an API key.',
    );
  return `${settings.origin}${prefixOf(new URL(publicUrl))}${DEVICE_PAGE}`;
}

function starting(app: FastifyInstance, { deps, limiter }: SignInRoutes): void {
  const { observer = UNOBSERVED } = deps;
  app.withTypeProvider<ZodTypeProvider>().post(
    '/v2/auth/device',
    {
      config: PUBLIC,
      bodyLimit: BODY_LIMIT,
      schema: {
        tags: ['sign-in'],
        summary: 'Start the login of a device',
        description:
          'Starts a login that a signed-in person confirms in a browser (`berth login`, RFC 8628). Show the code and the page to the person, and poll POST /v2/auth/token.\n\nScope: none.',
        querystring: noQuery,
        body: startSchema,
        response: { 200: startedSchema, ...openErrorAnswers(409, 413, 415, 422, 429, 503) },
      },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store');
      const uri = pageUrl(deps);
      limiter.deviceLogin(request);
      const { machine, tenant = null, role = null } = request.body;
      const codes = await start(deps, {
        machine,
        address: request.ip,
        requestedTenant: tenant,
        requestedRole: role,
      });
      if (codes === null)
        throw new ApiError(503, 'Too many logins are waiting. Try again.', {
          retryAfterSeconds: RETRY_AFTER_SECONDS,
        });
      observer.deviceLogin('started');
      return {
        device_code: codes.deviceCode,
        user_code: codes.userCode,
        verification_uri: uri,
        expires_in: DEVICE_LOGIN_SECONDS,
        interval: POLL_SECONDS,
      };
    },
  );
}

function deciding(app: FastifyInstance, routes: SignInRoutes): void {
  const typed = app.withTypeProvider<ZodTypeProvider>();
  typed.get(
    '/v2/auth/device/:user_code',
    {
      config: PUBLIC,
      schema: {
        tags: ['sign-in'],
        summary: 'Get the login of a device',
        description:
          'Returns a login that waits for the decision of a person.\n\nScope: none. The request needs the session of a person.',
        security: SESSION,
        params,
        querystring: noQuery,
        response: { 200: loginSchema, ...openErrorAnswers(401, 403, 404, 422, 429, 503) },
      },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store');
      const session = await requirePerson(routes, request);
      const login = await waitingLogin(routes, request, session, request.params.user_code);
      const offers = await offersFor(routes, session, login);
      return {
        user_code: login.userCode,
        machine: login.machine,
        address: login.address,
        requested_tenant: login.requestedTenant,
        requested_role: login.requestedRole,
        offers: offers.map((offer) => ({
          tenant_id: offer.tenantId,
          tenant_name: offer.tenantName,
          roles: [...offer.roles],
        })),
        created_at: login.createdAt.toISOString(),
        expires_at: login.expiresAt.toISOString(),
      };
    },
  );

  typed.post(
    '/v2/auth/device/:user_code',
    {
      config: PUBLIC,
      bodyLimit: BODY_LIMIT,
      schema: {
        tags: ['sign-in'],
        summary: 'Decide the login of a device',
        description:
          'Approves or denies a login. The token has at most the roles of the person. The first decision counts.\n\nScope: none. The request needs the session of a person.',
        security: SESSION,
        params,
        querystring: noQuery,
        body: decisionSchema,
        response: {
          204: z.null().describe('Decided.'),
          ...openErrorAnswers(400, 401, 403, 404, 409, 413, 415, 422, 429, 503),
        },
      },
    },
    async (request, reply) => {
      const session = await requirePerson(routes, request);
      const { decision, tenant_id: tenantId = null, roles = null } = request.body;
      await decideLogin(routes, request, session, [
        request.params.user_code,
        decision === 'deny' ? { kind: 'deny' } : { kind: 'approve', tenantId, roles },
      ]);
      return reply.code(204).send(null);
    },
  );
}

/** `/v2/auth/device`. */
export function deviceRoutes(app: FastifyInstance, routes: SignInRoutes): void {
  starting(app, routes);
  deciding(app, routes);
}
