import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { setDocsHeaders } from '../pages/page-headers.ts';
import { toOpenApi30 } from './openapi-3-0.ts';
import type { OpenApiDocument } from './openapi-types.ts';

const PUBLIC = { config: { access: 'public' }, schema: { hide: true } } as const;

/**
 * `/openapi.json`, the same document as OpenAPI 3.0.3, and `/docs`, which shows it in a browser. Must be registered after all
 * other routes.
 */
export function openApiRoutes(app: FastifyInstance): void {
  let converted: OpenApiDocument | undefined;
  app.get('/openapi.json', PUBLIC, async () => app.swagger());
  app.get('/openapi-3.0.json', PUBLIC, async () => {
    converted ??= toOpenApi30(app.swagger() as unknown as OpenApiDocument);
    return converted;
  });
  app.register(async (scoped) => {
    scoped.addHook('onRequest', setDocsHeaders);
    scoped.addHook('onRoute', (route) => {
      route.config = { ...route.config, access: 'public' };
    });
    await scoped.register(swaggerUi, { routePrefix: '/docs', logLevel: 'silent' });
  });
}
