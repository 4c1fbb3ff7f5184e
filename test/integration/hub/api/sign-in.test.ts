/** Sign-in of people at a real identity provider, and sessions, on two replicas of the API with one database. */
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { CompactSign, decodeJwt, importJWK, type JWK } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type AccessPolicy, accessPolicySchema } from '../../../../src/domain/access/access-policy.ts';
import type { ApiDeps } from '../../../../src/hub/api/core/deps.ts';
import { createWorkHints, type WorkHints } from '../../../../src/hub/api/listeners/work-hints.ts';
import { createOpenIdProvider } from '../../../../src/hub/identity/openid-provider.ts';
import { listenForWork, type Notifications } from '../../../../src/hub/store/core/notifications.ts';
import { createTenant } from '../../../../src/hub/store/tenancy/tenants.ts';
import { type ApiFixture, createBody, startApi, uniqueName } from '../../harness/api.ts';
import { Browser, type BrowserAnswer } from '../../harness/browser.ts';
import {
  type KnownPerson,
  startIdentityProvider,
  type TestProvider,
} from '../../harness/identity-provider.ts';
import { readLines } from '../../harness/line-reader.ts';
import { type StoreFixture, startStore } from '../../harness/store.ts';

const ORIGIN = 'https://berth.example.com';
const PUBLIC_URL = `${ORIGIN}/team`;
const COOKIE = '__Host-berth-session.team';
const SESSION = '/v2/auth/session';
const DEPLOYMENTS = '/v2/deployments';

const ANN: KnownPerson = { sub: 'ann', email: 'ann@example.com', groups: ['shop-devs'] };
const BOB: KnownPerson = { sub: 'bob', email: 'bob@example.com', groups: ['shop-devs', 'bank-viewers'] };

let store: StoreFixture;
let provider: TestProvider;
/** The second replica gets no notifications, so it polls. */
let first: ApiFixture;
let second: ApiFixture;
let notifications: Notifications;
let hints: WorkHints;
let shop: { id: string; name: string };
let bank: { id: string; name: string };
let rules: AccessPolicy;

const newTenantNamed = () =>
  store.database.platform.transaction((transaction) => createTenant(transaction, uniqueName('tenant')));

function policyOf(...given: [group: string, tenant: string | null, ...roles: string[]][]): AccessPolicy {
  const groups = given.map(([group, tenant, ...roles]) => ({
    issuer: provider.issuer,
    group,
    ...(tenant === null ? {} : { tenant }),
    roles,
  }));
  return accessPolicySchema.parse({ groups });
}

const usualRules = () =>
  policyOf(
    ['shop-devs', shop.name, 'deployer', 'secrets'],
    ['bank-viewers', bank.id, 'viewer'],
    ['platform', null, 'platform_admin'],
  );

/** Changes the roles in both replicas, as a reload of the policy file does. */
function setRules(changed: AccessPolicy): void {
  rules = changed;
  hints.notifyAll();
}

function signInDeps(more: Partial<ApiDeps> = {}): Partial<ApiDeps> {
  const { issuer, clientId, clientSecret } = provider;
  const redirectUri = `${PUBLIC_URL}/v2/auth/callback`;
  const scopes = ['openid', 'email', 'groups'];
  const settings = { issuer, clientId, clientSecret, scopes, signingAlgorithm: 'RS256', redirectUri };
  return {
    publicUrl: PUBLIC_URL,
    access: () => rules,
    signIn: {
      provider: createOpenIdProvider(settings),
      groupsClaim: 'groups',
      idleSeconds: 3600,
      maxSeconds: 7200,
    },
    ...more,
  };
}

beforeAll(async () => {
  store = await startStore();
  provider = await startIdentityProvider(`${PUBLIC_URL}/v2/auth/callback`);
  hints = createWorkHints();
  first = await startApi({ store, deps: signInDeps({ accessHints: hints }) });
  second = await startApi({ store, deps: signInDeps() });
  notifications = listenForWork({
    url: store.url,
    logger: store.logger,
    onWork: () => undefined,
    onAccess: (ids) => hints.notify(ids),
    onRescan: () => undefined,
  });
  await notifications.armed;
  [shop, bank] = [await newTenantNamed(), await newTenantNamed()];
  rules = usualRules();
});
afterAll(async () => {
  await notifications?.close();
  await second?.stop();
  await first?.stop();
  await provider?.stop();
  await store?.stop();
});
afterEach(() => {
  provider.forge = null;
  provider.setDown(false);
  setRules(usualRules());
});

const newBrowser = () => new Browser(first.app, ORIGIN);

async function signedIn(person: KnownPerson = ANN): Promise<Browser> {
  const browser = newBrowser();
  provider.person = person;
  const answer = await browser.signIn(provider);
  expect(answer.status, answer.text).toBe(303);
  return browser;
}

/** Tries to sign in with tokens that `change` forges. */
async function signInWith(
  change: (claims: Record<string, unknown>) => Record<string, unknown>,
  sign: (payload: Uint8Array, key: JWK) => Promise<string> = signed,
): Promise<BrowserAnswer> {
  provider.person = ANN;
  provider.forge = (idToken, key) => {
    const claims = change({ ...decodeJwt(idToken) });
    return sign(new TextEncoder().encode(JSON.stringify(claims)), key);
  };
  return newBrowser().signIn(provider);
}

async function signed(payload: Uint8Array, key: JWK, alg = 'RS256'): Promise<string> {
  const header = { alg, ...(key.kid === undefined ? {} : { kid: key.kid }) };
  return new CompactSign(payload).setProtectedHeader(header).sign(await importJWK(key, alg));
}

const same = (claims: Record<string, unknown>) => claims;
const sessionsOf = () => store.sql<{ n: number }>('SELECT count(*)::int AS n FROM sessions');

async function create(browser: Browser, more: object = {}, headers: Record<string, string> = {}) {
  return browser.call('POST', DEPLOYMENTS, { body: createBody({ ...more }), headers });
}

describe('a person with a role', () => {
  test('is signed in with a cookie that scripts and other hosts cannot read', async () => {
    provider.person = ANN;
    const browser = newBrowser();
    const answer = await browser.signIn(provider, '?return_to=/team/console?tab=logs');
    expect(answer).toMatchObject({ status: 303, headers: { location: `${PUBLIC_URL}/console?tab=logs` } });
    const line = answer.cookies.find((one) => one.startsWith(`${COOKIE}=`));
    expect(line).toMatch(/^[^;]+=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax$/);
    const [row] = await store.sql<{ text: string }>(
      'SELECT to_jsonb(s)::text AS text FROM sessions s ORDER BY id DESC LIMIT 1',
    );
    expect(row?.text).not.toContain(browser.jar.get(COOKIE));
    expect([...browser.jar.keys()]).toEqual([COOKIE]);
  });

  test('sees the own session with tenants and roles', async () => {
    const browser = await signedIn(BOB);
    const { status, body, headers } = await browser.call('GET', SESSION);
    expect(status).toBe(200);
    expect(headers['cache-control']).toBe('no-store');
    expect(body).toMatchObject({ kind: 'person', name: 'bob@example.com', platform_scopes: [] });
    expect(
      body.tenants.map(({ id, roles }: { id: string; roles: string[] }) => [id, roles]).toSorted(),
    ).toEqual(
      [
        [shop.id, ['deployer', 'secrets']],
        [bank.id, ['viewer']],
      ].toSorted(),
    );
  });

  test('is named as the author in the history and in logs', async () => {
    const browser = await signedIn();
    const { body: session } = await browser.call('GET', SESSION);
    const { body } = await create(browser);
    const events = await browser.call('GET', `${DEPLOYMENTS}/${body.id}/events`);
    const actor = { kind: 'person', id: session.actor_id, name: 'ann@example.com' };
    expect(events.body.resources).toMatchObject([{ reason: 'Created', actor }]);
    expect(body.updated_by).toEqual(actor);
    const client = await first.client(shop.id, ['deployments:read', 'deployments:write']);
    const patch = { source_config: { resource_spec: { max_scale: 2 } } };
    const { body: patched } = await client.call('PATCH', `${DEPLOYMENTS}/${body.id}`, patch);
    expect(patched['updated_by']).toMatchObject({ kind: 'api_key', name: 'test' });
    const { status } = await browser.call('DELETE', `${DEPLOYMENTS}/${body.id}`);
    expect(status).toBe(204);
    expect((await browser.call('GET', `${DEPLOYMENTS}/${body.id}`)).body.updated_by).toEqual(actor);
    expect(store.logger.lines).toContainEqual(
      expect.objectContaining({
        fields: expect.objectContaining({ person: 'ann@example.com', method: 'POST', tenantId: shop.id }),
      }),
    );
    const [noted] = await store.sql<{ actor_kind: string }>(
      `SELECT actor_kind FROM events WHERE reason = 'SignedIn' AND actor_id = $1`,
      [session.actor_id],
    );
    expect(noted?.actor_kind).toBe('person');
  });

  test('names the tenant when there are several, and cannot name another one', async () => {
    const browser = await signedIn(BOB);
    const list = (tenant?: string) =>
      browser.call('GET', DEPLOYMENTS, { headers: tenant === undefined ? {} : { 'x-tenant-id': tenant } });
    expect((await list()).body.detail).toMatchObject([{ loc: ['header', 'X-Tenant-Id'], type: 'missing' }]);
    expect([(await list(shop.id)).status, (await list(bank.id)).status]).toEqual([200, 200]);
    expect((await list((await newTenantNamed()).id)).status).toBe(404);
    const viewer = await create(browser, {}, { 'x-tenant-id': bank.id });
    expect(viewer).toMatchObject({
      status: 403,
      body: { detail: expect.stringContaining('deployments:write') },
    });
  });

  test('gets masked secrets unless the request asks for values', async () => {
    const browser = await signedIn();
    const { body } = await create(browser, { secrets: [{ name: 'TOKEN', value: 'plain' }] });
    const read = async (query = '') =>
      (await browser.call('GET', `${DEPLOYMENTS}/${body.id}${query}`)).body.secrets;
    expect(body.secrets).not.toContainEqual({ name: 'TOKEN', value: 'plain' });
    expect(await read()).not.toContainEqual({ name: 'TOKEN', value: 'plain' });
    expect(await read('?mask_secrets=false')).toEqual([{ name: 'TOKEN', value: 'plain' }]);
  });

  test('acts in every tenant as an admin of the platform', async () => {
    const browser = await signedIn({ sub: 'root', email: 'root@example.com', groups: ['platform'] });
    const other = await newTenantNamed();
    expect((await browser.call('GET', '/v2/tenants')).status).toBe(200);
    expect((await browser.call('GET', DEPLOYMENTS, { headers: { 'x-tenant-id': other.id } })).status).toBe(
      200,
    );
  });

  test('has other roles after the next sign-in when the groups changed', async () => {
    const browser = await signedIn();
    await signedIn({ ...ANN, groups: ['bank-viewers'] });
    const { body } = await browser.call('GET', SESSION);
    expect(body.tenants.map(({ id }: { id: string }) => id)).toEqual([bank.id]);
    await signedIn(ANN);
  });
});

describe('a person without a role', () => {
  test('gets no session and a clear answer, as a page in a browser', async () => {
    provider.person = { sub: 'eve', email: 'eve@example.com', groups: ['others'] };
    const browser = newBrowser();
    const [before] = await sessionsOf();
    const url = await browser.toCallback(provider);
    const answer = await browser.call('GET', url, { headers: { accept: 'text/html' } });
    expect(answer.status).toBe(403);
    expect(answer.text).toContain('eve@example.com is signed in at the identity provider, but has no role');
    expect(answer.headers['content-security-policy']).toContain("default-src 'none'");
    expect(await sessionsOf()).toEqual([before]);
  });

  test('loses sessions and former groups when the next sign-in gives no role, and is not stored when it is the first', async () => {
    const person = { sub: uniqueName('moved'), email: 'moved@example.com', groups: ['shop-devs'] };
    const browser = await signedIn(person);
    provider.person = { ...person, groups: ['others'] };
    expect((await newBrowser().signIn(provider)).status).toBe(403);
    expect((await browser.call('GET', SESSION)).status).toBe(401);
    const groupsOf = (subject: string) =>
      store.sql('SELECT groups FROM people WHERE subject = $1', [subject]);
    expect(await groupsOf(person.sub)).toEqual([{ groups: ['others'] }]);
    const outsider = { ...person, sub: uniqueName('outsider'), groups: ['others'] };
    provider.person = outsider;
    expect((await newBrowser().signIn(provider)).status).toBe(403);
    expect(await groupsOf(outsider.sub)).toEqual([]);
  });

  test('gets 403 with the reason when the role is removed later', async () => {
    const browser = await signedIn();
    setRules(policyOf());
    expect(await browser.call('GET', DEPLOYMENTS)).toMatchObject({
      status: 403,
      body: { detail: expect.stringContaining('You have no role') },
    });
    expect((await browser.call('GET', SESSION)).body.tenants).toEqual([]);
  });
});

describe('a request that another page sends', () => {
  test.each([
    ['a host of the same site', { origin: 'https://shop.example.com' }],
    ['a page of the same host over HTTP', { origin: 'http://berth.example.com' }],
    ['a page without an origin', { origin: 'null' }],
    ['no page', { origin: '' }],
  ])('changes nothing when it comes from %s', async (_, headers) => {
    const browser = await signedIn();
    const before = await first.rowCounts();
    for (const [method, url, body] of [
      ['POST', DEPLOYMENTS, createBody()],
      ['DELETE', `${DEPLOYMENTS}/${shop.id}`, undefined],
      ['POST', '/v2/auth/sign-out', {}],
      ['POST', '/v2/auth/key-session', { api_key: 'x' }],
    ] as const) {
      const answer = await browser.call(method, url, { body, headers });
      expect(answer.status, `${method} ${url}`).toBe(403);
    }
    expect(await first.rowCounts()).toEqual(before);
    expect((await browser.call('GET', SESSION)).status).toBe(200);
  });

  test('is rejected when its body is a form', async () => {
    const browser = await signedIn();
    const answer = await first.app.inject({
      method: 'POST',
      url: DEPLOYMENTS,
      headers: { cookie: browser.cookie, origin: ORIGIN, 'content-type': 'text/plain' },
      payload: JSON.stringify(createBody()),
    });
    expect(answer.statusCode).toBe(415);
    expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
  });

  test('is judged by its API key when it has one, even if a session exists', async () => {
    const browser = await signedIn();
    const wrong = await browser.call('GET', DEPLOYMENTS, { headers: { 'x-api-key': 'berth_wrong' } });
    expect(wrong.status).toBe(401);
  });
});

describe('a session', () => {
  test('has a new id after the sign-in, and the former one ends', async () => {
    const attacker = await signedIn(BOB);
    const planted = attacker.jar.get(COOKIE) ?? '';
    const victim = newBrowser();
    victim.jar.set(COOKIE, planted);
    provider.person = ANN;
    await victim.signIn(provider);
    expect(victim.jar.get(COOKIE)).not.toBe(planted);
    expect((await victim.call('GET', SESSION)).body.name).toBe('ann@example.com');
    expect((await attacker.call('GET', SESSION)).status).toBe(401);
  });

  test('is rejected by every replica at once after the sign-out', async () => {
    const browser = await signedIn();
    const stolen = { cookie: browser.cookie };
    expect((await second.app.inject({ url: DEPLOYMENTS, headers: stolen })).statusCode).toBe(200);
    const answer = await browser.call('POST', '/v2/auth/sign-out');
    expect(answer.status).toBe(204);
    expect([...browser.jar.keys()]).toEqual([]);
    for (const { app } of [first, second])
      expect((await app.inject({ url: DEPLOYMENTS, headers: stolen })).statusCode).toBe(401);
  });

  test('ends in all browsers when the person asks for it', async () => {
    const [one, other] = [await signedIn(), await signedIn()];
    await one.call('POST', '/v2/auth/sign-out', { body: { everywhere: true } });
    expect((await other.call('GET', SESSION)).status).toBe(401);
  });

  test.each([
    ['idle for too long', `last_used_at = now() - interval '61 minutes'`],
    ['too old although in use', `expires_at = now() - interval '1 second'`],
  ])('ends when it is %s', async (_, change) => {
    const browser = await signedIn();
    const { body } = await browser.call('GET', SESSION);
    await store.sql(`UPDATE sessions SET ${change} WHERE id = $1`, [body.id]);
    expect(await browser.call('GET', DEPLOYMENTS)).toMatchObject({
      status: 401,
      body: { detail: 'The session has ended. Sign in again.' },
    });
  });

  test('that is in use does not become idle', async () => {
    const browser = await signedIn();
    const { body } = await browser.call('GET', SESSION);
    await store.sql(`UPDATE sessions SET last_used_at = now() - interval '59 minutes' WHERE id = $1`, [
      body.id,
    ]);
    await browser.call('GET', DEPLOYMENTS);
    const [row] = await store.sql<{ fresh: boolean }>(
      `SELECT last_used_at > now() - interval '1 minute' AS fresh FROM sessions WHERE id = $1`,
      [body.id],
    );
    expect(row?.fresh).toBe(true);
  });

  test('that ends while the body of a change arrives changes nothing', async () => {
    const browser = await signedIn();
    const address = new URL(
      await second.app.listen({ host: '127.0.0.1', port: 0 }).catch(() => listening(second)),
    );
    const name = uniqueName();
    const body = JSON.stringify(createBody({ name }));
    const sent = httpRequest(new URL(DEPLOYMENTS, address), {
      method: 'POST',
      headers: {
        cookie: browser.cookie,
        origin: ORIGIN,
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
      },
    });
    const answered = once(sent, 'response');
    sent.write(body.slice(0, 20));
    // The headers were accepted when the session is used again.
    await new Promise((resolve) => setTimeout(resolve, 300));
    await browser.call('POST', '/v2/auth/sign-out', { body: {} });
    sent.end(body.slice(20));
    const [response] = await answered;
    expect(response.statusCode).toBe(401);
    expect(await store.sql('SELECT 1 FROM deployments WHERE name = $1', [name])).toEqual([]);
  });
});

/** The address of an API that listens already. */
function listening({ app }: ApiFixture): string {
  const { address, port } = app.addresses()[0] as { address: string; port: number };
  return `http://${address}:${port}`;
}

describe('an open stream', () => {
  const WITHIN_MS = 5_000;

  async function open(browser: Browser, api: ApiFixture, path = '/v2/events?follow=true') {
    const address = await api.app.listen({ host: '127.0.0.1', port: 0 }).catch(() => listening(api));
    const stream = await readLines(address, path, { cookie: browser.cookie });
    onTestFinished(stream.leave);
    expect(stream.status).toBe(200);
    return stream;
  }

  async function endsAfter(change: () => unknown): Promise<void> {
    const browser = await signedIn();
    const streams = [
      await open(browser, first),
      await open(browser, second),
      await open(browser, second, '/v2/watch'),
    ];
    const since = performance.now();
    await change.call(browser);
    await Promise.all(streams.map(({ ended }) => ended));
    expect(performance.now() - since).toBeLessThan(WITHIN_MS);
    for (const { lines } of streams)
      expect(lines.at(-1)).toMatchObject({
        end: 'The session has ended, or a role was lost.',
        reason: 'denied',
      });
  }

  test('ends on every replica when the person signs out', () =>
    endsAfter(function (this: Browser) {
      return this.call('POST', '/v2/auth/sign-out', { body: {} });
    }));

  test('ends on every replica when the role is removed', () =>
    endsAfter(() => setRules(policyOf(['shop-devs', shop.name, 'viewer']))));
});

describe('the start of a sign-in', () => {
  test('takes no address from the request', async () => {
    const answer = await newBrowser().call('GET', '/v2/auth/sign-in', {
      headers: { host: 'evil.example', 'x-forwarded-host': 'evil.example' },
    });
    const { searchParams } = new URL(String(answer.headers['location']));
    expect(searchParams.get('redirect_uri')).toBe(`${PUBLIC_URL}/v2/auth/callback`);
    expect(searchParams.get('code_challenge_method')).toBe('S256');
    for (const name of ['state', 'nonce', 'code_challenge'])
      expect(searchParams.get(name)).toMatch(/^[\w-]{43}$/);
  });

  test.each([
    'https://evil.example/',
    '//evil.example/',
    '/\\evil.example',
    '/team/../../evil',
    '/other',
    '/teams',
    'javascript:alert(1)',
    '/%09/evil.example',
  ])('rejects a return to %s', async (target) => {
    const answer = await newBrowser().call('GET', `/v2/auth/sign-in?return_to=${encodeURIComponent(target)}`);
    expect(answer).toMatchObject({ status: 422, cookies: [] });
  });

  test('stores nothing', async () => {
    const before = [await first.rowCounts(), await sessionsOf()];
    await newBrowser().call('GET', '/v2/auth/sign-in');
    expect([await first.rowCounts(), await sessionsOf()]).toEqual(before);
  });
});

describe('the answer of the identity provider', () => {
  test('is accepted once, also with the cookie of the sign-in', async () => {
    provider.person = ANN;
    const browser = newBrowser();
    const url = await browser.toCallback(provider);
    const replay = newBrowser();
    for (const [name, value] of browser.jar) replay.jar.set(name, value);
    expect((await browser.call('GET', url)).status).toBe(303);
    expect(await replay.call('GET', url)).toMatchObject({ status: 400 });
    expect(replay.jar.has(COOKIE)).toBe(false);
  });

  test('is accepted from an address at which other credentials were wrong', async () => {
    const rateLimits = { perKey: null, failures: { perSecond: 0.001, burst: 1 } };
    const limited = await startApi({ store, deps: signInDeps({ rateLimits }) });
    onTestFinished(() => limited.stop());
    const wrong = () => limited.app.inject({ url: DEPLOYMENTS, headers: { 'x-api-key': 'berth_wrong' } });
    expect([(await wrong()).statusCode, (await wrong()).statusCode]).toEqual([401, 429]);
    provider.person = ANN;
    const browser = newBrowser();
    const url = await browser.toCallback(provider);
    expect((await browser.call('GET', url, { api: limited.app })).status).toBe(303);
  });

  test('is rejected in another browser', async () => {
    provider.person = ANN;
    const url = await newBrowser().toCallback(provider);
    const other = newBrowser();
    expect((await other.call('GET', url)).status).toBe(400);
    await other.toCallback(provider);
    expect((await other.call('GET', url)).status).toBe(403);
    expect(other.jar.has(COOKIE)).toBe(false);
  });

  test('is accepted with new keys, and no longer with the former ones', async () => {
    await signedIn();
    let former: JWK | null = null;
    await signInWith(same, async (payload, key) => {
      former = key;
      return signed(payload, key);
    });
    await provider.rotateKeys();
    provider.forge = null;
    await signedIn();
    expect((await signInWith(same, (payload) => signed(payload, former as unknown as JWK))).status).toBe(403);
  });

  test.each([
    [
      'with the client secret as a symmetric key',
      async (payload: Uint8Array) =>
        signed(payload, { kty: 'oct', k: Buffer.from(provider.clientSecret).toString('base64url') }, 'HS256'),
    ],
    [
      'with the public key as a symmetric key',
      async (payload: Uint8Array, { n, e }: JWK) =>
        signed(
          payload,
          { kty: 'oct', k: Buffer.from(JSON.stringify({ kty: 'RSA', n, e })).toString('base64url') },
          'HS256',
        ),
    ],
    [
      'with another algorithm of the same key',
      async (payload: Uint8Array, key: JWK) => signed(payload, { ...key, alg: 'RS512' }, 'RS512'),
    ],
    [
      'with no signature',
      async (payload: Uint8Array) =>
        `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from(payload).toString('base64url')}.`,
    ],
  ])('is rejected when the token is signed %s', async (_, sign) => {
    expect((await signInWith(same, sign)).status).toBe(403);
  });

  const shifted = (seconds: number) => (claims: Record<string, unknown>) => ({
    ...claims,
    iat: Number(claims['iat']) + seconds,
    exp: Number(claims['iat']) + seconds + 300,
  });
  test.each([
    ['another audience', (claims: Record<string, unknown>) => ({ ...claims, aud: 'other-client' })],
    ['another issuer', (claims: Record<string, unknown>) => ({ ...claims, iss: 'https://evil.example' })],
    ['another nonce', (claims: Record<string, unknown>) => ({ ...claims, nonce: 'other' })],
    ['an end ten minutes ago', shifted(-900)],
  ])('is rejected when the token has %s', async (_, change) => {
    expect((await signInWith(change)).status).toBe(403);
  });

  test.each([40, -340])('is accepted when the clocks differ by %i seconds', async (seconds) => {
    expect((await signInWith(shifted(seconds))).status).toBe(303);
  });

  test('is asked for again when the identity provider is down, at the start and at the end', async () => {
    provider.person = ANN;
    const browser = newBrowser();
    const url = await browser.toCallback(provider);
    provider.setDown(true);
    const answer = await browser.call('GET', url);
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
    expect(browser.jar.has(COOKIE)).toBe(false);
    const fresh = await startApi({ store, deps: signInDeps() });
    onTestFinished(() => fresh.stop());
    const start = () => newBrowser().call('GET', '/v2/auth/sign-in', { api: fresh.app });
    expect((await start()).status).toBe(503);
    provider.setDown(false);
    expect((await start()).status).toBe(303);
  });
});

describe('an API key', () => {
  const exchange = (browser: Browser, api_key: string, more: object = {}) =>
    browser.call('POST', '/v2/auth/key-session', { body: { api_key }, ...more });

  test('is exchanged for a session that acts as the key and ends with it', async () => {
    const client = await first.client(shop.id, ['deployments:read', 'deployments:write']);
    const browser = newBrowser();
    const { status, body, text } = await exchange(browser, client.key);
    expect({ status, body }).toMatchObject({
      status: 201,
      body: { kind: 'api_key', tenants: [{ id: shop.id, roles: [] }] },
    });
    expect(text).not.toContain(client.key);
    const made = await create(browser);
    expect(made.status).toBe(201);
    const events = await browser.call('GET', `${DEPLOYMENTS}/${made.body.id}/events`);
    expect(events.body.resources[0].actor).toEqual({ kind: 'api_key', id: body.actor_id, name: 'test' });
    await store.sql('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [body.actor_id]);
    expect((await browser.call('GET', DEPLOYMENTS)).status).toBe(401);
  });

  test('ends the former session of the browser', async () => {
    const browser = await signedIn();
    const former = { cookie: browser.cookie };
    const client = await first.client(shop.id, ['deployments:read']);
    expect((await exchange(browser, client.key)).status).toBe(201);
    expect((await first.app.inject({ url: SESSION, headers: former })).statusCode).toBe(401);
  });

  test('cannot be guessed at any rate, and a valid key is never locked out', async () => {
    const rateLimits = { perKey: null, failures: { perSecond: 0.1, burst: 3 } };
    const limited = await startApi({ store, deps: signInDeps({ rateLimits }) });
    onTestFinished(() => limited.stop());
    const browser = newBrowser();
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 5; attempt += 1)
      statuses.push((await exchange(browser, 'berth_wrong', { api: limited.app })).status);
    expect(statuses).toEqual([401, 401, 401, 429, 429]);
    const logged = store.logger.lines.filter(({ message }) =>
      message.startsWith('failed to sign in with an API key'),
    );
    expect(logged).toHaveLength(3);
    const client = await first.client(shop.id, ['deployments:read']);
    expect((await exchange(browser, client.key, { api: limited.app })).status).toBe(201);
  });

  test('is not exchanged over plain HTTP, except on this machine', async () => {
    const client = await first.client(shop.id, ['deployments:read']);
    const at = async (publicUrl: string | null) => {
      const { app, stop } = await startApi({ store, deps: signInDeps({ publicUrl }) });
      onTestFinished(stop);
      return exchange(new Browser(app, publicUrl ?? ORIGIN), client.key);
    };
    expect((await at('http://berth.internal')).status).toBe(403);
    expect((await at(null)).status).toBe(403);
    const local = await at('http://localhost:8080');
    expect(local.status).toBe(201);
    expect(local.cookies[0]).toMatch(/^berth-session-8080=[^;]+; Path=\/; HttpOnly; SameSite=Lax$/);
  });
});

test('people and sessions are invisible to statements on behalf of a tenant', async () => {
  await signedIn();
  for (const table of ['people', 'sessions']) {
    const rows = await store.database
      .forTenant(shop.id)
      .read((reader) => reader.query(`SELECT 1 FROM ${table}`));
    expect(rows).toEqual([]);
  }
});

test('the ways to sign in are public', async () => {
  const { body } = await newBrowser().call('GET', '/v2/auth/methods');
  expect(body).toEqual({ identity_provider: { issuer: provider.issuer }, api_key: true });
});
