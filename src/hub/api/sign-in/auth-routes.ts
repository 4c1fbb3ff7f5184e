import { fastifyCookie } from '@fastify/cookie';
import type { FastifyInstance } from 'fastify';
import type { KeyFinder } from '../tenancy/api-key-cache.ts';
import { sessionRoutes } from './session-routes.ts';
import { signInRoutes } from './sign-in-routes.ts';
import type { SignInRoutes } from './signed-in.ts';

/** `/v2/auth`: sign-in of browsers, and sessions. Other routes read cookies without the plugin. */
export function authRoutes(
  parent: FastifyInstance,
  routes: SignInRoutes & { readonly findKey: KeyFinder },
): void {
  parent.register(async (app) => {
    await app.register(fastifyCookie);
    // The routes are public, but their responses must not be cached.
    app.addHook('onRequest', async (_request, reply) => {
      reply.header('cache-control', 'no-store');
    });
    sessionRoutes(app, routes);
    app.register(async (scoped) => signInRoutes(scoped, routes));
  });
}
