import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { prefixOf } from '../../../domain/access/session-cookie.ts';
import type { ApiDeps } from '../core/deps.ts';
import { ApiError } from '../core/errors.ts';
import { setConsoleHeaders } from '../pages/page-headers.ts';
import { ASSETS, CONSOLE_PATH, readIndex, wantsPage, withBase } from './console-files.ts';

/** `/console`: the files of the web console, and the first page (docs/decisions/0133). */

const PUBLIC = { config: { access: 'public' }, schema: { hide: true } } as const;

const NOT_BUILT =
  'The files of the console are missing. Build them with `npm run console`, or switch the console off with BERTH_CONSOLE=false.';

/** Path of the public URL, without a slash at its end. */
const prefixIn = (publicUrl: string | null): string =>
  publicUrl === null ? '' : prefixOf(new URL(publicUrl));

/** `/` leads browsers to the console, and all other clients to the reference of the API. */
function firstPage(app: FastifyInstance, { console: settings, publicUrl }: ApiDeps): void {
  const toConsole = `${prefixIn(publicUrl)}${CONSOLE_PATH}/`;
  app.get('/', PUBLIC, (request, reply) => {
    const isPage = settings != null && wantsPage(request.headers.accept);
    return reply.header('vary', 'accept').redirect(isPage ? toConsole : '/docs');
  });
}

/** Must be registered before the API answers. Without `console` in the dependencies, `/console` does not exist. */
export function consoleRoutes(parent: FastifyInstance, deps: ApiDeps): void {
  firstPage(parent, deps);
  const { console: settings } = deps;
  if (settings == null) return;
  const { folder } = settings;
  const prefix = prefixIn(deps.publicUrl);

  async function sendIndex(reply: FastifyReply): Promise<FastifyReply> {
    // Read each time, so that the index fits the files of a new build.
    const index = await readIndex(folder);
    if (index === null) throw new ApiError(503, NOT_BUILT);
    setConsoleHeaders(reply);
    reply.header('cache-control', 'no-cache').type('text/html; charset=utf-8');
    return reply.serializer(String).send(withBase(index, prefix));
  }

  parent.register(async (app) => {
    await app.register(fastifyStatic, {
      root: folder,
      serve: false,
      index: false,
      dotfiles: 'ignore',
      preCompressed: true,
      immutable: true,
      maxAge: '365d',
    });
    app.get<{ Params: { '*': string } }>(`${CONSOLE_PATH}/${ASSETS}/*`, PUBLIC, (request, reply) => {
      setConsoleHeaders(reply);
      return reply.sendFile(`${ASSETS}/${request.params['*']}`);
    });
    app.get(CONSOLE_PATH, PUBLIC, (_request, reply) => sendIndex(reply));
    app.get(`${CONSOLE_PATH}/*`, PUBLIC, (_request, reply) => sendIndex(reply));
  });
}
