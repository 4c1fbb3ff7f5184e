import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { RegistryAuthority } from '../../registry/authority.ts';
import type { Statement } from '../../registry/credential.ts';
import { TOKEN_PATH } from '../../registry/registry-config.ts';
import { findRepositoryOwner } from '../../store/builds/repository-owners.ts';
import type { ApiDeps } from '../core/deps.ts';
import { ApiError, noRoute } from '../core/errors.ts';
import type { RateLimiter } from '../core/rate-limit.ts';
import { timeSchema } from '../deployments/deployment-schema.ts';
import { errorAnswers } from '../openapi/error-schema.ts';

/**
 * Issues tokens for clients of the platform's registry, in both forms of its protocol: GET with Basic credentials
 * (https://distribution.github.io/distribution/spec/auth/token/) and POST as in OAuth 2 (…/oauth/). Unknown parameters
 * are ignored.
 */

const FORM = 'application/x-www-form-urlencoded';
/** Maximum number of scopes, more than any client requests at once. */
const MAX_SCOPES = 64;
const MAX_SCOPE_LENGTH = 4096;
/** Maximum size of a form, in bytes. Callers are not authenticated when it is read. */
const FORM_LIMIT = 16 * 1024;

const scopeText = z.string().max(MAX_SCOPE_LENGTH);
const service = z
  .string()
  .max(512)
  .optional()
  .describe(
    'Service name of the registry, as in the configuration of the registry. Other names are rejected.',
  );
const scope = z
  .union([scopeText, z.array(scopeText).max(MAX_SCOPES)])
  .default([])
  .describe('Requested access, such as repository:PATH:pull,push. The parameter can be repeated.');

const query = z.looseObject({ service, scope });
const form = z
  .looseObject({
    grant_type: z.enum(['password', 'refresh_token']).describe('How the credential is sent.'),
    service,
    scope,
    password: z
      .string()
      .max(4096)
      .optional()
      .describe('The credential, for the grant type password. The user name is ignored.'),
    refresh_token: z
      .string()
      .max(4096)
      .optional()
      .describe('The credential, for the grant type refresh_token.'),
  })
  .meta({ id: 'RequestRegistryToken', description: 'A request for a token, as an OAuth 2 form.' });

const tokenSchema = z
  .object({
    token: z
      .string()
      .describe(
        'Bearer token for the registry. The token grants the requested access as far as the credential allows.',
      ),
    access_token: z.string().describe('The same token as `token`.'),
    expires_in: z.int().describe('Lifetime in seconds.'),
    issued_at: timeSchema.describe('Time of creation.'),
  })
  .meta({ id: 'RegistryToken', description: 'A token for the registry.' });

interface TokenRequest {
  readonly credential: string | null;
  readonly service?: string | undefined;
  readonly scope: string | readonly string[];
}

/** The password of Basic credentials; null: the header has no Basic credentials. */
function basicPassword({ headers }: FastifyRequest): string | null {
  const [, encoded] = /^basic +([A-Za-z0-9+/=_-]{1,8192})$/i.exec(headers.authorization ?? '') ?? [];
  if (encoded === undefined) return null;
  const text = Buffer.from(encoded, 'base64').toString();
  const colon = text.indexOf(':');
  return colon < 0 ? null : text.slice(colon + 1);
}

/** The deployment of a claim; null: the deployment is deleted, being deleted, or belongs to another tenant. */
function ownerOf({ database }: ApiDeps, { tenantId, deploymentId, kind }: Statement) {
  return database
    .forTenant(tenantId)
    .read((reader) => findRepositoryOwner(reader, tenantId, deploymentId, kind === 'pull'));
}

function checkService({ service: own }: RegistryAuthority, part: string, given: string | undefined): void {
  if (given === undefined || given === own) return;
  const msg = `must be ${own}, the registry of this API`;
  throw new ApiError(400, [{ loc: [part, 'service'], msg, type: 'foreign_service' }]);
}

/** @throws ApiError 400, 401, 404 when the registry does not use this API, 429 */
async function answer(deps: ApiDeps, limiter: RateLimiter, request: FastifyRequest, asked: TokenRequest) {
  const { registryAuthority: authority, clock = () => new Date() } = deps;
  if (authority == null) throw noRoute();
  const now = clock();
  const statement = asked.credential === null ? null : authority.read(asked.credential, now);
  const owner = statement === null ? null : await ownerOf(deps, statement);
  if (statement === null || owner === null) {
    limiter.failure(request);
    throw new ApiError(401, 'The credentials for the registry are missing, not valid, or no longer valid.');
  }
  limiter.registryCall(owner.id, statement.kind);
  checkService(authority, request.method === 'GET' ? 'query' : 'body', asked.service);
  const scopes = [asked.scope].flat();
  const { token, expiresIn, issuedAt } = await authority.accessToken(statement, owner, scopes, now);
  return { token, access_token: token, expires_in: expiresIn, issued_at: issuedAt.toISOString() };
}

/** Clients of the registry send forms. The token routes accept no other content type. */
function takeForms(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(FORM, { parseAs: 'string' }, (_request, body, done) => {
    const fields = new URLSearchParams(String(body));
    const names = [...new Set(fields.keys())];
    const sent = (name: string) => {
      const values = fields.getAll(name);
      return values.length > 1 ? values : values[0];
    };
    done(null, Object.fromEntries(names.map((name) => [name, sent(name)])));
  });
  app.addContentTypeParser('*', (_request, _payload, done) =>
    done(new ApiError(415, `The body must be ${FORM}.`), undefined),
  );
}

const config = { access: 'public', challenge: 'Basic realm="berth"' } as const;
const tags = ['registry'];
const response = { 200: tokenSchema, ...errorAnswers(400, 401, 404) };

/** `/v2/registry/token`: the realm of the platform's registry. */
export function registryTokenRoutes(parent: FastifyInstance, deps: ApiDeps, limiter: RateLimiter): void {
  parent.register(async (app) => {
    takeForms(app);
    // The routes are public, but their responses must not be cached.
    app.addHook('onRequest', async (_request, reply) => {
      reply.header('cache-control', 'no-store');
    });
    const routes = app.withTypeProvider<ZodTypeProvider>();
    routes.get(
      TOKEN_PATH,
      {
        config,
        schema: {
          tags,
          summary: 'Get a registry token',
          description:
            'Token endpoint for clients of the registry. Send the credentials of a push token or of a cluster as Basic authentication, with any user name.',
          querystring: query,
          response,
        },
      },
      (request) => answer(deps, limiter, request, { ...request.query, credential: basicPassword(request) }),
    );
    routes.post(
      TOKEN_PATH,
      {
        config,
        bodyLimit: FORM_LIMIT,
        schema: {
          tags,
          summary: 'Request a registry token',
          description: 'Same as the GET request, but as an OAuth 2 form.',
          consumes: [FORM],
          body: form,
          response: { ...response, ...errorAnswers(413, 415) },
        },
      },
      (request) => {
        const { grant_type: grant, password, refresh_token: refresh, ...rest } = request.body;
        const credential = (grant === 'password' ? password : refresh) ?? null;
        return answer(deps, limiter, request, { ...rest, credential });
      },
    );
  });
}
