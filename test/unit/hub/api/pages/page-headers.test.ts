import { globSync } from 'node:fs';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { declaringDeps } from '../../../../../scripts/openapi-document.ts';
import { buildApp } from '../../../../../src/hub/api/core/app.ts';

let app: FastifyInstance;
/** Every GET route of the API, with values for its parameters. */
const paths = new Set<string>();
beforeAll(async () => {
  app = buildApp(declaringDeps());
  app.addHook('onRoute', ({ method, url }: RouteOptions) => {
    if ([method].flat().includes('GET')) paths.add(url.replace(/:\w+/g, 'x').replace('*', ''));
  });
  app.register(async (scoped) => {
    scoped.get('/page', { config: { access: 'public' } }, async (_request, reply) =>
      reply.type('text/html; charset=utf-8').send('<p>a page'),
    );
  });
  await app.ready();
}, 60_000);
afterAll(() => app.close());

/** The files of the page /docs. */
const assets = () =>
  globSync('*', {
    cwd: new URL('../../../../../node_modules/@fastify/swagger-ui/static/', import.meta.url),
  }).map((name) => `/docs/static/${name}`);
const get = (url: string) => app.inject({ url, headers: { accept: 'text/html' } });

const MISSING = [
  '/docs/nothing',
  '/docs/static/nothing.html',
  '/docs/static/%2e%2e/package.json',
  '/nothing',
];

test('sends nosniff with every response, and forbids foreign scripts and frames on every page', async () => {
  const answers = await Promise.all(
    [...paths, ...assets(), ...MISSING].map(async (url) => ({ url, answer: await get(url) })),
  );
  const pages = answers.filter(
    ({ url, answer }) => url.startsWith('/docs') || /html/.test(String(answer.headers['content-type'])),
  );
  for (const { url, answer } of answers)
    expect(answer.headers['x-content-type-options'], url).toBe('nosniff');
  const html = pages.filter(({ answer }) => /html/.test(String(answer.headers['content-type'])));
  expect(html.map(({ url }) => url)).toEqual(
    expect.arrayContaining(['/docs', '/page', '/docs/static/oauth2-redirect.html']),
  );
  const documented = pages.filter(({ answer }) => answer.statusCode < 404);
  expect(documented.length).toBeGreaterThan(10);
  for (const { url, answer } of documented) {
    const policy = String(answer.headers['content-security-policy']);
    expect(policy, url).toContain("default-src 'none'");
    expect(policy, url).toContain("frame-ancestors 'none'");
    expect(policy, url).not.toMatch(/script-src[^;]*(unsafe|\*|https:)/);
    expect(answer.headers['referrer-policy'], url).toBe('no-referrer');
    expect(answer.headers['x-frame-options'], url).toBe('DENY');
  }
});

test('returns 404 as JSON for a page that does not exist', async () => {
  for (const url of MISSING) {
    const answer = await get(url);
    expect(answer.statusCode, url).toBe(404);
    expect(answer.headers['content-type'], url).toBe('application/json; charset=utf-8');
    expect(answer.headers['x-content-type-options'], url).toBe('nosniff');
  }
});

test('loads the scripts and styles of /docs only from its own origin, as its policy allows', async () => {
  const { body } = await get('/docs');
  const scripts = [...body.matchAll(/<script([^>]*)>([^<]*)<\/script>/g)];
  const sources = [...body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, source = '']) => source);
  expect(scripts.length).toBeGreaterThan(2);
  for (const [, attributes = '', inside = ''] of scripts) {
    expect(attributes).toContain('src="/docs/static/');
    expect(inside.trim()).toBe('');
  }
  expect(body).not.toMatch(/\son\w+=|<style/);
  for (const source of sources) {
    expect(source).toMatch(/^\/docs\/static\//);
    expect((await get(source)).statusCode, source).toBe(200);
  }
});
