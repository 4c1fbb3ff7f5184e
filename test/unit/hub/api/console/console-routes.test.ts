import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { declaringDeps } from '../../../../../scripts/openapi-document.ts';
import { buildApp } from '../../../../../src/hub/api/core/app.ts';

const root = mkdtempSync(join(tmpdir(), 'berth-console-'));
const built = join(root, 'built');
const empty = join(root, 'empty');
const apps: FastifyInstance[] = [];

async function appOf(folder: string | null, publicUrl: string | null = null): Promise<FastifyInstance> {
  const app = buildApp({ ...declaringDeps(), publicUrl, console: folder === null ? null : { folder } });
  await app.ready();
  apps.push(app);
  return app;
}

let app: FastifyInstance;
beforeAll(async () => {
  mkdirSync(join(built, 'assets'), { recursive: true });
  writeFileSync(join(built, 'index.html'), '<!doctype html><html><head><title>x</title></head></html>');
  writeFileSync(join(built, 'build.json'), '{}');
  writeFileSync(join(built, 'assets/main-1a2b.js'), 'export {};');
  writeFileSync(join(built, 'assets/main-1a2b.js.gz'), 'zipped');
  app = await appOf(built);
}, 60_000);
afterAll(async () => {
  await Promise.all(apps.map((each) => each.close()));
  rmSync(root, { recursive: true });
});

const HTML = { accept: 'text/html,application/xhtml+xml' };

test.each(['/console', '/console/', '/console/t/1/deployments?status=READY', '/console/build.json'])(
  'returns the index for %s, which browsers check each time',
  async (url) => {
    const { statusCode, headers, body } = await app.inject({ url, headers: HTML });
    expect(statusCode).toBe(200);
    expect(headers).toMatchObject({
      'cache-control': 'no-cache',
      'content-type': 'text/html; charset=utf-8',
      'x-frame-options': 'DENY',
    });
    expect(body).toContain('<base href="/console/">');
    const policy = String(headers['content-security-policy']);
    expect(policy).toMatch(/^default-src 'none'/);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|data:|https?:|\*/);
  },
);

test('returns files of the build as immutable, and compressed if the browser accepts that', async () => {
  const url = '/console/assets/main-1a2b.js';
  const plain = await app.inject({ url });
  expect(plain.statusCode).toBe(200);
  expect(plain.body).toBe('export {};');
  expect(plain.headers['cache-control']).toMatch(/max-age=31536000, immutable/);
  const zipped = await app.inject({ url, headers: { 'accept-encoding': 'gzip' } });
  expect(zipped.headers['content-encoding']).toBe('gzip');
});

test.each(['/console/assets/main-gone.js', '/console/assets/', '/console/assets/..%2findex.html'])(
  'returns 404 and not the index for %s',
  async (url) => {
    const { statusCode, headers } = await app.inject({ url, headers: HTML });
    expect(statusCode).toBe(404);
    expect(String(headers['content-type'])).toMatch(/json/);
    expect(String(headers['cache-control'])).not.toMatch(/immutable/);
  },
);

test('uses the path of the public URL as the base', async () => {
  const prefixed = await appOf(built, 'https://example.com/tools/berth/');
  const { body } = await prefixed.inject({ url: '/console/', headers: HTML });
  expect(body).toContain('<base href="/tools/berth/console/">');
  const { headers } = await prefixed.inject({ url: '/', headers: HTML });
  expect(headers.location).toBe('/tools/berth/console/');
});

test('/ leads browsers to the console, and other clients to the reference', async () => {
  const location = async (accept: string) =>
    (await app.inject({ url: '/', headers: { accept } })).headers.location;
  expect(await location(HTML.accept)).toBe('/console/');
  expect(await location('*/*')).toBe('/docs');
  expect(await location('application/json')).toBe('/docs');
});

test('names the command when the files are missing', async () => {
  const unbuilt = await appOf(empty);
  const { statusCode, body } = await unbuilt.inject({ url: '/console/', headers: HTML });
  expect(statusCode).toBe(503);
  expect(JSON.parse(body).detail).toContain('npm run console');
});

test('does not exist when it is switched off', async () => {
  const off = await appOf(null);
  expect((await off.inject({ url: '/console/' })).statusCode).toBe(404);
  expect((await off.inject({ url: '/', headers: HTML })).headers.location).toBe('/docs');
});
