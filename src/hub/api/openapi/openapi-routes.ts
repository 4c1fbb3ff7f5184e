import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { setDocsHeaders } from '../core/page-headers.ts';

/** `/openapi.json`, and `/docs`, which shows the document in a browser. Must be registered after all other routes. */
export function openApiRoutes(app: FastifyInstance): void {
  app.get('/openapi.json', { config: { access: 'public' }, schema: { hide: true } }, async () =>
    app.swagger(),
  );
  app.register(async (scoped) => {
    scoped.addHook('onRequest', setDocsHeaders);
    scoped.addHook('onRoute', (route) => {
      route.config = { ...route.config, access: 'public' };
    });
    await scoped.register(swaggerUi, { routePrefix: '/docs', logLevel: 'silent' });
  });
}
