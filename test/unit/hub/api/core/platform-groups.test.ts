/** Calls of listeners of the platform do not wait for other work of the platform. */
import { fastify } from 'fastify';
import { expect, test } from 'vitest';
import { authenticate } from '../../../../../src/hub/api/core/auth.ts';
import type { ApiDeps } from '../../../../../src/hub/api/core/deps.ts';
import { createLimiter } from '../../../../../src/hub/api/core/rate-limit.ts';
import { validatorCompiler } from '../../../../../src/hub/api/core/validation.ts';
import { registerListenerProtocol } from '../../../../../src/hub/api/listeners/listener-protocol-routes.ts';
import { generateApiKey } from '../../../../../src/hub/store/tenancy/api-keys.ts';

const TENANT = '0198a000-0000-7000-8000-000000000001';
const LISTENER = '0198a000-0000-7000-8000-000000000002';

/** The groups of connections that a call uses. */
async function groupsOf(headers: Record<string, string>): Promise<ReadonlySet<string>> {
  const groups = new Set<string>();
  const found = { id: TENANT, name: 'key', scopes: ['admin'], tenantId: null, expiresAt: null };
  const scopeOf = (group: string) => {
    groups.add(group);
    const read = async () => ({ ...found, namespaces: [], used: [] });
    return { read, transaction: read };
  };
  const deps = {
    database: { platform: null, forPlatform: scopeOf, forTenant: scopeOf },
    internalKey: null,
    leaseSeconds: 60,
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  } as unknown as ApiDeps;
  const app = fastify();
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  app.addHook('onRequest', authenticate(deps, createLimiter(null)));
  await registerListenerProtocol(app, deps);
  const url = `/v2/listeners/${LISTENER}/lease`;
  const { statusCode } = await app.inject({ url, headers: { 'x-api-key': generateApiKey(), ...headers } });
  await app.close();
  expect(statusCode).toBe(200);
  return groups;
}

test.each([
  ['a key of the platform', {}],
  ['a key of the platform that names a tenant', { 'x-tenant-id': TENANT }],
])('each listener has its own group, and authentication has another, with %s', async (_, headers) => {
  expect(await groupsOf(headers)).toEqual(new Set(['authentication', LISTENER]));
});
