/** `berth login`, `logout` and `tokens` of a person, and commands of a pipeline, against a running API. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type AccessPolicy, accessPolicySchema } from '../../../src/domain/access/access-policy.ts';
import { SESSION_TIMES } from '../../../src/hub/api/sign-in/session-finder.ts';
import { recordPerson } from '../../../src/hub/store/tenancy/people.ts';
import { createSession } from '../../../src/hub/store/tenancy/sessions.ts';
import { createWorkloadVerifier } from '../../../src/hub/workload-identity/verifier.ts';
import { freePorts } from '../../cluster/ports.ts';
import { waitFor } from '../../cluster/wait.ts';
import { ALL_SCOPES, type ApiFixture, type Client, startApi } from '../harness/api.ts';
import { newTenant } from '../harness/store.ts';
import { main, runProgram } from './cli.ts';

const IDP = 'https://login.example.com';
const CI = 'https://ci.example.com';

let api: ApiFixture;
let url: string;
let port: number;
let admin: Client;
let access: AccessPolicy;
let home: string;
let signer: Awaited<ReturnType<typeof generateKeyPair>>['privateKey'];

beforeAll(async () => {
  [port = 0] = await freePorts(1);
  url = `http://127.0.0.1:${port}`;
  const provider = {
    issuer: IDP,
    authorizationUrl: async () => IDP,
    redeem: () => Promise.reject(new Error('unused')),
  };
  api = await startApi({
    deps: {
      publicUrl: url,
      access: () => access,
      signIn: { ...SESSION_TIMES, provider, groupsClaim: 'groups' },
      workloads: createWorkloadVerifier(url, () => Promise.reject(new Error('unused'))),
    },
  });
  await api.app.listen({ host: '127.0.0.1', port });
  const { tenantId } = await newTenant(api.store);
  admin = await api.client(tenantId, ALL_SCOPES);
  const { publicKey, privateKey } = await generateKeyPair('RS256');
  signer = privateKey;
  access = accessPolicySchema.parse({
    groups: [{ issuer: IDP, group: 'team', tenant: tenantId, roles: ['deployer'] }],
    workload_issuers: [
      {
        name: 'ci',
        issuer: CI,
        jwks: { keys: [{ ...(await exportJWK(publicKey)), kid: 'k' }] },
        rules: [{ name: 'shop', claims: { sub: 'shop' }, tenant: tenantId, roles: ['viewer'] }],
      },
    ],
  });
});
afterAll(() => api?.stop());
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'berth-login-'));
  return () => rmSync(home, { recursive: true, force: true });
});

const cli = (words: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  runProgram(words, { env: { HOME: home, ...env } });
const file = () => join(home, '.config/berth/contexts.json');
const stored = () =>
  JSON.parse(readFileSync(file(), 'utf8')) as { contexts: Record<string, Record<string, string>> };

/** The cookie of a signed-in person. */
async function signedIn(): Promise<string> {
  const secret = await api.store.database.platform.transaction(async (transaction) => {
    const made = await recordPerson(transaction, {
      issuer: IDP,
      subject: 'ada',
      name: 'Ada',
      groups: ['team'],
    });
    return (await createSession(transaction, { owner: { personId: made.id }, seconds: 3600 })).secret;
  });
  return `berth-session-${port}=${secret}`;
}

test('logs a person in with a code, and out again', async () => {
  const words = ['login', '--device', '--url', url, '--name', 'team', '--role', 'viewer'];
  const child = spawn(process.execPath, [main, ...words], { env: { PATH: process.env['PATH'], HOME: home } });
  let printed = '';
  child.stderr.on('data', (data) => {
    printed += data;
  });
  const ended = once(child, 'close');
  const code = await waitFor('the code', async () => /[B-Z]{4}-[B-Z]{4}/.exec(printed)?.[0], {
    timeoutMs: 30_000,
  });
  expect(printed).toContain(`${url}/auth/device`);
  const headers = { cookie: await signedIn(), origin: url, 'content-type': 'application/json' };
  const seen = await (await fetch(`${url}/v2/auth/device/${code}`, { headers })).json();
  expect(seen).toMatchObject({ machine: hostname(), requested_role: 'viewer' });
  const body = JSON.stringify({ decision: 'approve', tenant_id: admin.tenantId, roles: ['viewer'] });
  expect((await fetch(`${url}/v2/auth/device/${code}`, { method: 'POST', headers, body })).status).toBe(204);
  expect(await ended, printed).toEqual([0, null]);

  const token = stored().contexts['team']?.['access_token'] ?? '';
  expect(token).toMatch(/^berth_at_/);
  expect(statSync(file()).mode & 0o777).toBe(0o600);
  expect(printed).not.toContain(token);
  const who = await cli(['whoami', '-o', 'json']);
  expect(JSON.parse(who.out)).toMatchObject({
    context: 'team',
    actor: 'Ada',
    roles: ['viewer'],
    tenant_id: admin.tenantId,
  });
  expect((await cli(['deployments', 'list', '-o', 'json'])).out).toBe('[]\n');
  const listed = await cli(['tokens', 'list', '-o', 'json']);
  expect(JSON.parse(listed.out)).toMatchObject([{ name: hostname(), kind: 'person' }]);
  expect(who.out + listed.out + (await cli(['context', 'list'])).out).not.toContain(token);

  const out = await cli(['logout']);
  expect(out).toMatchObject({ code: 0, err: 'removed the context team; its token is revoked\n' });
  expect(stored().contexts).toEqual({});
  expect((await fetch(`${url}/v2/usage`, { headers: { authorization: `Bearer ${token}` } })).status).toBe(
    401,
  );
}, 60_000);

test('revokes a token by its id, after which commands ask for a login', async () => {
  writeFileSync(join(home, 'id'), await idToken());
  const env = { BERTH_ID_TOKEN_FILE: join(home, 'id'), BERTH_URL: url };
  expect(await cli(['login', '--workload', '--name', 'ci'], env)).toMatchObject({ code: 0 });
  const [{ id }] = JSON.parse((await cli(['tokens', 'list', '-o', 'json'])).out);
  expect(await cli(['tokens', 'revoke', id])).toMatchObject({ code: 2 });
  expect(await cli(['tokens', 'revoke', id, '--yes'])).toMatchObject({ code: 0 });
  const rejected = await cli(['deployments', 'list']);
  expect(rejected).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^berth: 401: .*; next: berth login/),
  });
}, 60_000);

test('signs a person out everywhere, as an admin of the platform', async () => {
  const headers = { cookie: await signedIn() };
  const [ada] = await api.store.sql("SELECT id FROM people WHERE subject = 'ada'");
  const { id } = ada as { id: string };
  const signOut = (person: string, ...more: string[]) =>
    cli(['people', 'sign-out', person, ...more], { BERTH_URL: url, BERTH_API_KEY: admin.key });
  expect(await signOut('ada@example.com', '--yes')).toMatchObject({
    code: 2,
    err: expect.stringMatching(/an id/),
  });
  expect(await signOut(id)).toMatchObject({ code: 2 });
  expect(await signOut('01890000-0000-7000-8000-00000000beef', '--yes')).toMatchObject({ code: 1 });
  const session = () => fetch(`${url}/v2/auth/session`, { headers });
  expect((await session()).status).toBe(200);
  expect(await signOut(id, '--yes')).toMatchObject({ code: 0, err: `signed the person ${id} out\n` });
  expect((await session()).status).toBe(401);
}, 60_000);

async function idToken(more: object = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: CI, aud: url, sub: 'shop', iat: now, exp: now + 300, ...more };
  return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'k' }).sign(signer);
}

test('exchanges the token of a pipeline in each command, without a login', async () => {
  const who = await cli(['whoami', '-o', 'json'], { BERTH_URL: url, BERTH_ID_TOKEN: await idToken() });
  expect(JSON.parse(who.out), who.err).toMatchObject({
    actor: 'ci/shop: shop',
    kind: 'workload',
    context: null,
  });
  const wrong = await idToken({ aud: 'https://other.example.com' });
  const rejected = await cli(['deployments', 'list'], { BERTH_URL: url, BERTH_ID_TOKEN: wrong });
  expect(rejected).toMatchObject({
    code: 1,
    err: expect.stringContaining(`does not have the audience of this API (${url})`),
  });
  expect(rejected.err).not.toContain(wrong.slice(0, 20));
  const withoutUrl = await cli(['deployments', 'list'], { BERTH_ID_TOKEN: wrong });
  expect(withoutUrl.code).toBe(2);
}, 60_000);
