import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { ROLES, type Role } from '../../../domain/access/roles.ts';
import { UUID_PATTERN } from '../../../domain/core/id.ts';
import { CONSOLE_PATH } from '../console/console-files.ts';
import { ApiError, toApiError } from '../core/errors.ts';
import { setStyledHeaders } from '../pages/page-headers.ts';
import { requireCookies } from '../sign-in/session-cookies.ts';
import { findSignedIn, type SignInRoutes } from '../sign-in/signed-in.ts';
import type { PersonSession } from '../tenancy/principal.ts';
import { decidedPage, decisionPage, entryPage, problemPage, STYLE_SOURCE } from './device-html.ts';
import { type Decision, decideLogin, offersFor, requirePerson, waitingLogin } from './device-logins.ts';

/**
 * The page on which a person confirms the login of a device. It leads to the console. If the console is switched off, the API serves the
 * page (docs/decisions/0130). The code is sent in a form and never in a URL, so that no link can contain it.
 */

export const DEVICE_PAGE = '/auth/device';
const PAGE_OF_CONSOLE = `${CONSOLE_PATH}/device`;

const FORM = 'application/x-www-form-urlencoded';
const BODY_LIMIT = 4096;

const formSchema = z.object({
  code: z.string().max(64),
  decision: z.enum(['approve', 'deny']).optional(),
  grant: z.string().max(128).optional(),
});
type Form = z.infer<typeof formSchema>;

function isRole(text: string): text is Role {
  return (ROLES as readonly string[]).includes(text);
}

/**
 * What the person chose.
 * @throws ApiError 400 for an approval without a choice, 403 for a value that the page does not have
 */
function decisionOf({ decision, grant = '' }: Form): Decision {
  if (decision === 'deny') return { kind: 'deny' };
  if (grant === '') throw new ApiError(400, 'Choose a tenant and a role.');
  const [tenantId = '', role, ...rest] = grant.split('/');
  if (role === undefined || rest.length > 0) throw new ApiError(403, 'The form was changed.');
  const isKnown = (tenantId === '' || UUID_PATTERN.test(tenantId)) && (role === '' || isRole(role));
  if (!isKnown) throw new ApiError(403, 'The form was changed.');
  return {
    kind: 'approve',
    tenantId: tenantId === '' ? null : tenantId.toLowerCase(),
    roles: isRole(role) ? [role] : null,
  };
}

function sendPage(reply: FastifyReply, status: number, page: string): FastifyReply {
  setStyledHeaders(reply, STYLE_SOURCE, { hasForm: page.includes('<form ') });
  reply.code(status).header('cache-control', 'no-store').type('text/html; charset=utf-8');
  return reply.serializer(String).send(page);
}

const sentenceOf = ({ detail }: ApiError) =>
  typeof detail === 'string' ? detail : detail.map(({ msg }) => `The role ${msg}.`).join(' ');

/** Only forms: a page of another origin is rejected by its header Origin. */
function takeForms(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(FORM, { parseAs: 'string', bodyLimit: BODY_LIMIT }, (_request, body, done) => {
    done(null, Object.fromEntries(new URLSearchParams(String(body))));
  });
  app.addContentTypeParser('*', (_request, _payload, done) =>
    done(new ApiError(415, `The body must be ${FORM}.`), undefined),
  );
}

/** `/auth/device`. */
export function devicePage(parent: FastifyInstance, routes: SignInRoutes): void {
  const { deps } = routes;
  const actionOf = () => `${requireCookies(deps.publicUrl).prefix}${DEVICE_PAGE}`;

  function signIn(reply: FastifyReply): FastifyReply {
    if (deps.signIn?.provider == null) throw new ApiError(409, 'No identity provider is configured.');
    const { prefix } = requireCookies(deps.publicUrl);
    const query = new URLSearchParams({ return_to: actionOf() });
    return reply.redirect(`${prefix}/v2/auth/sign-in?${query}`, 303);
  }

  async function show(request: FastifyRequest, session: PersonSession, code: string): Promise<string> {
    const login = await waitingLogin(routes, request, session, code);
    const offers = await offersFor(routes, session, login);
    const { userCode, machine, address, requestedTenant: tenant, requestedRole: role } = login;
    const shown = { userCode, machine, address, requested: { tenant, role }, offers };
    return decisionPage(actionOf(), session.person.name, shown);
  }

  async function decide(request: FastifyRequest, session: PersonSession, form: Form): Promise<string> {
    const { machine } = await waitingLogin(routes, request, session, form.code);
    await decideLogin(routes, request, session, [form.code, decisionOf(form)]);
    return decidedPage(form.decision ?? 'deny', machine);
  }

  parent.register(async (app) => {
    takeForms(app);
    app.setErrorHandler((error, request, reply) => {
      const problem = toApiError(error);
      // Errors of the server are logged by the handler of the app.
      if (problem.statusCode >= 500) throw error;
      return sendPage(reply, problem.statusCode, problemPage(sentenceOf(problem), request.id));
    });
    const typed = app.withTypeProvider<ZodTypeProvider>();
    const config = { access: 'public' } as const;

    typed.get(DEVICE_PAGE, { config, schema: { hide: true } }, async (request, reply) => {
      if (deps.console != null)
        return reply.redirect(`${requireCookies(deps.publicUrl).prefix}${PAGE_OF_CONSOLE}`, 303);
      if ((await findSignedIn(routes, request)) === null) return signIn(reply);
      const { person } = await requirePerson(routes, request);
      return sendPage(reply, 200, entryPage(actionOf(), person.name, null));
    });

    typed.post(
      DEVICE_PAGE,
      { config, bodyLimit: BODY_LIMIT, schema: { hide: true, body: formSchema } },
      async (request, reply) => {
        const session = await requirePerson(routes, request);
        const form = request.body;
        try {
          const page =
            form.decision === undefined ? show(request, session, form.code) : decide(request, session, form);
          return sendPage(reply, 200, await page);
        } catch (error) {
          if (!(error instanceof ApiError) || error.statusCode !== 404) throw error;
          const problem = 'This code is not known, or has expired. Start berth login again.';
          return sendPage(reply, 404, entryPage(actionOf(), session.person.name, problem));
        }
      },
    );
  });
}
