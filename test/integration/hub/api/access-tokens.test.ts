/**
 * Access tokens: exchanged for tokens of service accounts of a real cluster, and created by logins that a person confirms.
 * Two replicas of the API share one database. No notification reaches them, so streams end by their own check.
 */
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type AccessPolicy, NO_ACCESS } from '../../../../src/domain/access/access-policy.ts';
import type { IdentityProvider } from '../../../../src/domain/access/identity-provider.ts';
import { type WorkloadIssuer, workloadIssuersSchema } from '../../../../src/domain/access/workload-policy.ts';
import { SESSION_TIMES } from '../../../../src/hub/api/sign-in/session-finder.ts';
import { recordPerson } from '../../../../src/hub/store/tenancy/people.ts';
import { createSession } from '../../../../src/hub/store/tenancy/sessions.ts';
import { KEY_TIMES, type ReadKeys } from '../../../../src/hub/workload-identity/key-source.ts';
import { keyReader } from '../../../../src/hub/workload-identity/read-keys.ts';
import { createWorkloadVerifier } from '../../../../src/hub/workload-identity/verifier.ts';
import { callHost } from '../../../../src/outbound/call-host.ts';
import { waitFor } from '../../../cluster/wait.ts';
import { authority } from '../../../unit/cluster/kube/self-signed.ts';
import {
  ALL_SCOPES,
  type Answer,
  type ApiFixture,
  type Client,
  createBody,
  startApi,
} from '../../harness/api.ts';
import { createNamespace, deleteNamespace, kubectlAsAdmin } from '../../harness/environment.ts';
import { readLines } from '../../harness/line-reader.ts';
import { newTenant } from '../../harness/store.ts';

const PUBLIC_URL = 'https://berth.example.com';
const IDP = 'https://login.example.com';
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code';

/** People do not sign in here: the tests store their sessions. */
const provider: IdentityProvider = {
  issuer: IDP,
  authorizationUrl: async () => `${IDP}/authorize`,
  redeem: async () => {
    throw new Error('failed to redeem: there is no person');
  },
};

let one: ApiFixture;
let two: ApiFixture;
/** A replica that limits failures of an address. */
let limited: ApiFixture;
let urlOfOne: string;
let admin: Client;
let tenantName: string;
let namespace: string;
let cluster: WorkloadIssuer;
let access: AccessPolicy = NO_ACCESS;
/** How the API reads keys by URL. */
let readKeys: ReadKeys;

beforeAll(async () => {
  namespace = await createNamespace('workload');
  const keysByUrl: ReadKeys = (url, signal) => readKeys(url, signal);
  const deps = {
    access: () => access,
    signIn: { ...SESSION_TIMES, provider, groupsClaim: 'groups' },
    workloads: createWorkloadVerifier(PUBLIC_URL, keysByUrl, {
      ...KEY_TIMES,
      unknownKey: 0,
      refresh: 0,
      retry: 0,
    }),
  };
  one = await startApi({ deps });
  two = await startApi({ store: one.store, deps });
  const rateLimits = { perKey: null, failures: { perSecond: 0.001, burst: 5 } };
  const trustProxy = ['127.0.0.1'];
  limited = await startApi({ store: one.store, deps: { ...deps, rateLimits, trustProxy } });
  urlOfOne = await one.app.listen({ host: '127.0.0.1', port: 0 });
  const { tenantId } = await newTenant(one.store);
  admin = await one.client(tenantId, ALL_SCOPES);
  const [tenant] = await one.store.sql<{ name: string }>('SELECT name FROM tenants WHERE id = $1', [
    tenantId,
  ]);
  tenantName = tenant?.name ?? '';
  const read = async (path: string) => JSON.parse(await kubectlAsAdmin(['get', '--raw', path]));
  const [discovery, jwks] = await Promise.all([
    read('/.well-known/openid-configuration'),
    read('/openid/v1/jwks'),
  ]);
  cluster = issuer({ name: 'cluster', issuer: discovery.issuer, jwks, jwks_url: undefined });
});
afterAll(async () => {
  await limited?.stop();
  await two?.stop();
  await one?.stop();
  await deleteNamespace(namespace);
});
beforeEach(() => {
  access = { groups: [], workload_issuers: [cluster] };
});

function issuer(more: object = {}): WorkloadIssuer {
  const rule = {
    name: 'deployer',
    claims: { sub: `system:serviceaccount:${namespace}:default` },
    tenant: tenantName,
    roles: ['deployer'],
  };
  const [parsed] = workloadIssuersSchema.parse([
    {
      name: 'ci',
      issuer: 'https://ci.example.com',
      jwks_url: 'https://ci.example.com/keys',
      rules: [rule],
      ...more,
    },
  ]);
  if (parsed === undefined) throw new Error('failed to parse an issuer');
  return parsed;
}

/** A token of the TokenRequest API. */
const serviceAccountToken = async (audience = PUBLIC_URL, account = 'default') =>
  (await kubectlAsAdmin(['create', 'token', account, '-n', namespace, `--audience=${audience}`])).trim();

type Body = Record<string, unknown>;

/** Calls a replica with these headers. A body is sent as JSON. */
async function call<T = Body>(
  api: ApiFixture,
  [method, url]: readonly ['GET' | 'POST' | 'DELETE', string],
  { body, ...headers }: { body?: Body; [header: string]: unknown } = {},
): Promise<Answer<T>> {
  const response = await api.app.inject({
    method,
    url,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers } as Record<
      string,
      string
    >,
    ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
  });
  const json = response.payload === '' ? null : JSON.parse(response.payload);
  return { status: response.statusCode, headers: response.headers as Record<string, string>, body: json };
}

const createToken = (body: Body, api = one) => call(api, ['POST', '/v2/auth/token'], { body });
const exchange = (token: string, more: Body = {}, api = one) =>
  createToken({ grant_type: EXCHANGE, subject_token: token, ...more }, api);
const bearer = (token: unknown) => ({ authorization: `Bearer ${token}` });
const typeOf = ({ body }: Answer) => (body['detail'] as { type: string }[])[0]?.type;

async function workloadToken(): Promise<string> {
  const { status, body } = await exchange(await serviceAccountToken());
  expect(status, JSON.stringify(body)).toBe(200);
  return String(body['access_token']);
}

/** A stream of events that a token has opened. */
async function follow(token: string) {
  const stream = await readLines(urlOfOne, '/v2/events?follow=true', { authorization: `Bearer ${token}` });
  onTestFinished(stream.leave);
  await waitFor('the stream', async () => stream.keepalives + stream.lines.length > 0 || undefined, {
    timeoutMs: 10_000,
  });
  return stream;
}
const untilDenied = async (stream: Awaited<ReturnType<typeof follow>>) => {
  const began = performance.now();
  await waitFor('the end', async () => stream.lines.at(-1)?.['reason'] === 'denied' || undefined, {
    timeoutMs: 10_000,
  });
  return performance.now() - began;
};

describe('workloads', () => {
  test('exchanges the token of a service account for a token with the tenant and role of its rule', async () => {
    const { status, body, headers } = await exchange(await serviceAccountToken());
    expect(status).toBe(200);
    expect(headers['cache-control']).toBe('no-store');
    expect(body).toMatchObject({
      token_type: 'Bearer',
      expires_in: 900,
      tenant_id: admin.tenantId,
      roles: ['deployer'],
    });
    const token = bearer(body['access_token']);
    const made = await call(one, ['POST', '/v2/deployments'], { ...token, body: createBody() });
    expect(made.status).toBe(201);
    expect((await call(one, ['GET', '/v2/auth/token'], token)).body).toMatchObject({
      kind: 'workload',
      actor_name: `cluster/deployer: system:serviceaccount:${namespace}:default`,
      tenant_name: tenantName,
      scopes: ['deployments:read', 'deployments:write'],
    });
    // The history names the workload, for the token and for the change.
    const events = await admin.call<{ resources: { reason: string; actor: Body }[] }>(
      'GET',
      '/v2/events?limit=2',
    );
    const actor = {
      kind: 'workload',
      id: body['id'],
      name: `cluster/deployer: system:serviceaccount:${namespace}:default`,
    };
    expect(events.body.resources).toMatchObject([
      { reason: 'Created', actor },
      { reason: 'AccessTokenCreated', actor },
    ]);
    // A deployer has no access to keys and other tenants.
    expect(await call(one, ['GET', '/v2/api-keys'], token)).toMatchObject({ status: 403 });
    const outsider = await one.tenant();
    expect(
      await call(one, ['GET', '/v2/deployments'], { ...token, 'x-tenant-id': outsider.tenantId }),
    ).toMatchObject({ status: 404 });
  });

  test('stores only a hash of a token', async () => {
    const token = await workloadToken();
    const rows = await one.store.sql<{ row: string }>('SELECT to_jsonb(a)::text AS row FROM access_tokens a');
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.some(({ row }) => row.includes(token.slice(16)))).toBe(false);
    expect(JSON.stringify(one.store.logger.lines)).not.toContain(token.slice(16));
  });

  test.each<[string, () => Promise<string>, string]>([
    ['has another audience', () => serviceAccountToken('https://other.example.com'), 'audience'],
    ['is for the API server', () => serviceAccountToken('https://kubernetes.default.svc'), 'audience'],
    ['is no token', async () => 'x'.repeat(40), 'malformed'],
    [
      'has a changed signature',
      async () => `${(await serviceAccountToken()).slice(0, -8)}AAAAAAAA`,
      'signature',
    ],
  ])('rejects a token that %s', async (_what, token, type) => {
    const answer = await exchange(await token());
    expect([answer.status, typeOf(answer)]).toEqual([400, type]);
  });

  test('rejects a token that meets no rule, or only rules of other tenants', async () => {
    await kubectlAsAdmin(['create', 'serviceaccount', 'other', '-n', namespace]);
    expect(typeOf(await exchange(await serviceAccountToken(PUBLIC_URL, 'other')))).toBe('no_rule');
    expect(one.store.logger.lines).toContainEqual(
      expect.objectContaining({
        fields: { requestId: expect.any(String), rejection: 'no_rule', issuer: 'cluster' },
      }),
    );
    const token = await serviceAccountToken();
    const outsider = await one.tenant();
    expect(typeOf(await exchange(token, { tenant_id: outsider.tenantId }))).toBe('other_tenant');
    access = {
      groups: [],
      workload_issuers: [issuer({ ...cluster, rules: [{ ...cluster.rules[0], tenant: 'gone' }] })],
    };
    expect(typeOf(await exchange(token))).toBe('no_tenant');
  });

  test('gives the rule of the requested tenant when a token meets several', async () => {
    const second = await one.tenant();
    const rules = [
      ...cluster.rules,
      { ...cluster.rules[0], name: 'second', tenant: second.tenantId, roles: ['viewer'] },
    ];
    access = { groups: [], workload_issuers: [issuer({ ...cluster, rules })] };
    const { body } = await exchange(await serviceAccountToken(), { tenant_id: second.tenantId });
    expect(body).toMatchObject({ tenant_id: second.tenantId, roles: ['viewer'] });
  });

  test('rejects all tokens of a rule in every process when the rule is removed or names another tenant', async () => {
    const token = bearer(await workloadToken());
    expect(await call(two, ['GET', '/v2/usage'], token)).toMatchObject({ status: 200 });
    access = NO_ACCESS;
    expect(await call(two, ['GET', '/v2/usage'], token)).toMatchObject({ status: 401 });
    access = {
      groups: [],
      workload_issuers: [issuer({ ...cluster, rules: [{ ...cluster.rules[0], roles: ['viewer'] }] })],
    };
    expect(await call(two, ['GET', '/v2/usage'], token)).toMatchObject({ status: 401 });
  });

  test('counts rejected tokens as failed authentications, and still exchanges valid ones', async () => {
    const from = { 'x-forwarded-for': '198.51.100.5' };
    const send = async (token: string) => {
      const body = { grant_type: EXCHANGE, subject_token: token };
      return (await call(limited, ['POST', '/v2/auth/token'], { ...from, body })).status;
    };
    const statuses: number[] = [];
    for (let count = 0; count < 6; count += 1) statuses.push(await send('x'.repeat(40)));
    expect(statuses).toEqual([400, 400, 400, 400, 400, 429]);
    expect(await send(await serviceAccountToken())).toBe(200);
  });
});

describe('keys by URL', () => {
  const root = authority();
  let server: Server;
  let keys: object[] = [];
  let isDown = false;

  beforeAll(async () => {
    const { cert, key } = root.issue(['ci.example.com']);
    server = createServer({ cert, key }, (_request, response) => {
      response.writeHead(isDown ? 500 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ keys }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    // The name is resolved to this machine, as only a test may.
    const { port } = server.address() as AddressInfo;
    readKeys = async (url, signal) => {
      const address = new URL(url);
      address.port = String(port);
      const addresses = [{ address: '127.0.0.1', family: 4 }];
      const read = { method: 'GET', headers: {}, maxBytes: 10_000, addresses, ca: root.cert } as const;
      const { status, body } = await callHost(address, read, signal);
      if (status !== 200) throw new Error(`failed to read keys: ${status}`);
      return body;
    };
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  async function signer(kid: string) {
    const { publicKey, privateKey } = await generateKeyPair('RS256');
    const now = Math.floor(Date.now() / 1000);
    const payload = {
      iss: 'https://ci.example.com',
      aud: PUBLIC_URL,
      sub: `system:serviceaccount:${namespace}:default`,
    };
    const token = await new SignJWT({ ...payload, iat: now, exp: now + 300 })
      .setProtectedHeader({ alg: 'RS256', kid })
      .sign(privateKey);
    return { jwk: { ...(await exportJWK(publicKey)), kid }, token };
  }

  test('follows the rotation of keys, and answers with 503 while the issuer does not respond', async () => {
    access = { groups: [], workload_issuers: [issuer()] };
    const [first, second] = [await signer('first'), await signer('second')];
    keys = [first.jwk];
    expect((await exchange(first.token)).status).toBe(200);
    expect(typeOf(await exchange(second.token))).toBe('unknown_key');
    keys = [second.jwk];
    expect((await exchange(second.token)).status).toBe(200);
    expect(typeOf(await exchange(first.token))).toBe('unknown_key');
    isDown = true;
    // The key is known.
    expect((await exchange(second.token)).status).toBe(200);
    const unknown = await exchange((await signer('third')).token);
    expect(unknown).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
    expect(unknown.body['detail']).toContain('issuer ci');
  });

  test('does not read keys from a private address', async () => {
    const reader = keyReader({ allowPrivate: false, closedNetworks: [] });
    await expect(reader(new URL('https://127.0.0.1/keys'), AbortSignal.timeout(5_000))).rejects.toMatchObject(
      {
        failure: 'closed_address',
      },
    );
  });
});

test('rejects a revoked token at once on the other replica, and ends its stream within five seconds', async () => {
  const token = await workloadToken();
  const stream = await follow(token);
  const { body } = await call(two, ['GET', '/v2/auth/token'], bearer(token));
  expect(await call(two, ['DELETE', '/v2/auth/token'], bearer(token))).toMatchObject({ status: 204 });
  expect(await call(one, ['GET', '/v2/usage'], bearer(token))).toMatchObject({
    status: 401,
    headers: { 'www-authenticate': expect.stringContaining('ApiKey') },
  });
  expect(await untilDenied(stream)).toBeLessThan(6_000);
  const { body: page } = await admin.call<{ resources: Body[] }>(
    'GET',
    '/v2/auth/tokens?all=true&ended=true',
  );
  expect(page.resources.find(({ id }) => id === body['id'])?.['revoked_at']).not.toBeNull();
});

test('rejects an expired token, and ends its stream', async () => {
  const token = await workloadToken();
  const { body } = await call(one, ['GET', '/v2/auth/token'], bearer(token));
  const stream = await follow(token);
  await one.store.sql(`UPDATE access_tokens SET expires_at = now() WHERE id = $1`, [body['id']]);
  expect((await call(one, ['GET', '/v2/usage'], bearer(token))).status).toBe(401);
  await untilDenied(stream);
});

test('rejects a large body of a caller without a credential', async () => {
  const answer = await exchange('x'.repeat(21 * 1024));
  expect(answer.status).toBe(413);
});

test('prefers the API key when a request has both, and ignores other schemes', async () => {
  const both = { 'x-api-key': admin.key, authorization: 'Bearer berth_at_x' };
  expect((await call(one, ['GET', '/v2/usage'], both)).status).toBe(200);
  expect((await call(one, ['GET', '/v2/usage'], { authorization: 'Basic eDp5' })).status).toBe(401);
  expect((await call(one, ['GET', '/v2/usage'], { authorization: `Bearer ${admin.key}` })).status).toBe(401);
});

/** A person of a group, with a session in a browser. */
async function person(group: string, name = 'Ada Example') {
  const groups = [group];
  const subject = `${group}-${name}`;
  const { secret, personId } = await one.store.database.platform.transaction(async (transaction) => {
    const made = await recordPerson(transaction, { issuer: IDP, subject, name, groups });
    const session = await createSession(transaction, { owner: { personId: made.id }, seconds: 3600 });
    return { secret: session.secret, personId: made.id };
  });
  const cookie = `__Host-berth-session=${secret}`;
  return { personId, cookie, headers: { cookie, origin: PUBLIC_URL } };
}

const groupRule = (group: string, ...roles: AccessPolicy['groups'][number]['roles'][number][]) =>
  ({ issuer: IDP, group, tenant: tenantName, roles }) as AccessPolicy['groups'][number];

async function startLogin(more: Body = {}, api = one) {
  const { status, body } = await call(api, ['POST', '/v2/auth/device'], {
    body: { machine: 'laptop', ...more },
  });
  expect(status, JSON.stringify(body)).toBe(200);
  return { deviceCode: String(body['device_code']), userCode: String(body['user_code']), body };
}
const poll = (deviceCode: string, api = one) =>
  createToken({ grant_type: DEVICE, device_code: deviceCode }, api);
const decide = (userCode: string, headers: object, body: Body, api = one) =>
  call(api, ['POST', `/v2/auth/device/${userCode}`], { ...headers, body });
/** Polls come as if the interval had passed. */
const passInterval = () => one.store.sql(`UPDATE device_logins SET polled_at = NULL`);

async function personToken(group: string, roles?: string[]) {
  const { headers, personId } = await person(group);
  const { deviceCode, userCode } = await startLogin();
  const answer = await decide(userCode, headers, {
    decision: 'approve',
    tenant_id: admin.tenantId,
    ...(roles === undefined ? {} : { roles }),
  });
  expect(answer.status, JSON.stringify(answer.body)).toBe(204);
  const { body } = await poll(deviceCode, two);
  return { token: String(body['access_token']), id: String(body['id']), headers, personId, deviceCode };
}

describe('logins of devices', () => {
  beforeEach(() => {
    access = {
      groups: [groupRule('deployers', 'deployer'), groupRule('leads', 'admin')],
      workload_issuers: [cluster],
    };
  });

  test('gives a token after a person has approved the code', async () => {
    const { headers } = await person('deployers');
    const { deviceCode, userCode, body } = await startLogin({ tenant: tenantName, role: 'viewer' });
    expect(body).toMatchObject({
      verification_uri: `${PUBLIC_URL}/auth/device`,
      expires_in: 600,
      interval: 5,
    });
    expect(typeOf(await poll(deviceCode))).toBe('authorization_pending');
    expect(typeOf(await poll(deviceCode, two))).toBe('slow_down');
    const seen = await call(
      one,
      ['GET', `/v2/auth/device/${userCode.toLowerCase().replace('-', '')}`],
      headers,
    );
    expect(seen.body).toMatchObject({
      machine: 'laptop',
      address: '127.0.0.1',
      requested_tenant: tenantName,
      requested_role: 'viewer',
      offers: [{ tenant_id: admin.tenantId, tenant_name: tenantName, roles: ['viewer', 'deployer'] }],
    });
    expect(
      (await decide(userCode, headers, { decision: 'approve', tenant_id: admin.tenantId, roles: ['viewer'] }))
        .status,
    ).toBe(204);
    const issued = await poll(deviceCode);
    expect(issued.body).toMatchObject({ tenant_id: admin.tenantId, roles: ['viewer'] });
    const lifetime = Number(issued.body['expires_in']);
    expect(lifetime).toBeGreaterThan(43_000);
    expect(lifetime).toBeLessThanOrEqual(43_200);
    const token = bearer(issued.body['access_token']);
    expect((await call(one, ['GET', '/v2/deployments'], token)).status).toBe(200);
    expect((await call(one, ['POST', '/v2/deployments'], { ...token, body: createBody() })).status).toBe(403);
    const { body: event } = await admin.call<{ resources: Body[] }>('GET', '/v2/events?limit=1');
    expect(event.resources).toMatchObject([
      { reason: 'AccessTokenCreated', actor: { kind: 'person', name: 'Ada Example' } },
    ]);
  });

  test('gives a token no longer than the groups of the last sign-in count', async () => {
    const signedIn = async (hoursAgo: number) => {
      const { headers, personId } = await person('deployers', `Ada ${hoursAgo}`);
      await one.store.sql(
        `UPDATE people SET signed_in_at = now() - make_interval(hours => $2) WHERE id = $1`,
        [personId, hoursAgo],
      );
      const { deviceCode, userCode } = await startLogin();
      await decide(userCode, headers, { decision: 'approve', tenant_id: admin.tenantId });
      return poll(deviceCode);
    };
    const { body } = await signedIn(11);
    expect(Number(body['expires_in'])).toBeLessThanOrEqual(3_600);
    expect(typeOf(await signedIn(13))).toBe('expired_token');
  });

  test('revokes the token when its device code is used again', async () => {
    const { token, deviceCode } = await personToken('deployers');
    expect((await call(one, ['GET', '/v2/usage'], bearer(token))).status).toBe(200);
    expect(typeOf(await poll(deviceCode))).toBe('invalid_grant');
    expect((await call(one, ['GET', '/v2/usage'], bearer(token))).status).toBe(401);
  });

  test('answers polls of a login that was denied or has expired', async () => {
    const { headers } = await person('deployers');
    const denied = await startLogin();
    expect((await decide(denied.userCode, headers, { decision: 'deny' })).status).toBe(204);
    expect(typeOf(await poll(denied.deviceCode))).toBe('access_denied');
    // The first decision counts.
    expect(
      (await decide(denied.userCode, headers, { decision: 'approve', tenant_id: admin.tenantId })).status,
    ).toBe(404);
    const late = await startLogin();
    await one.store.sql(`UPDATE device_logins SET expires_at = now() WHERE user_code = $1`, [late.userCode]);
    expect((await call(one, ['GET', `/v2/auth/device/${late.userCode}`], headers)).status).toBe(404);
    await passInterval();
    expect(typeOf(await poll(late.deviceCode))).toBe('expired_token');
  });

  test('limits guesses of user codes and device codes of one address', async () => {
    const { headers } = await person('deployers');
    const from = (address: string) => ({ 'x-forwarded-for': address });
    const guess = async () =>
      (await call(limited, ['GET', '/v2/auth/device/BBBB-BBBB'], { ...headers, ...from('198.51.100.6') }))
        .status;
    const device = async () => {
      const body = { grant_type: DEVICE, device_code: 'x'.repeat(43) };
      return (await call(limited, ['POST', '/v2/auth/token'], { ...from('198.51.100.7'), body })).status;
    };
    const six = async (send: () => Promise<number>) => {
      const statuses: number[] = [];
      for (let count = 0; count < 6; count += 1) statuses.push(await send());
      return statuses;
    };
    expect(await six(guess)).toEqual([404, 404, 404, 404, 404, 429]);
    // Another person at this address can still log in.
    const other = await person('deployers', 'Bob Example');
    const { userCode } = await startLogin();
    const sent = { ...other.headers, ...from('198.51.100.6') };
    expect((await call(limited, ['GET', `/v2/auth/device/${userCode}`], sent)).status).toBe(200);
    expect(await six(device)).toEqual([400, 400, 400, 400, 400, 429]);
  });

  test('does not wait for another poll of the same login', async () => {
    const { deviceCode, userCode } = await startLogin();
    await one.store.database.platform.transaction(async (transaction) => {
      await transaction.query('SELECT 1 FROM device_logins WHERE user_code = $1 FOR UPDATE', [userCode]);
      expect(typeOf(await poll(deviceCode, two))).toBe('slow_down');
    });
    expect(typeOf(await poll(deviceCode))).toBe('authorization_pending');
  });

  test('answers polls that come far too often without the database', async () => {
    const { deviceCode } = await startLogin();
    await passInterval();
    for (let count = 0; count < 10; count += 1) await poll(deviceCode, limited);
    const before = await one.store.sql('SELECT polled_at FROM device_logins');
    expect(typeOf(await poll(deviceCode, limited))).toBe('slow_down');
    expect(await one.store.sql('SELECT polled_at FROM device_logins')).toEqual(before);
  });

  test('limits the logins that one address starts', async () => {
    const statuses: number[] = [];
    for (let count = 0; count < 11; count += 1)
      statuses.push((await call(limited, ['POST', '/v2/auth/device'], { body: { machine: 'bot' } })).status);
    expect(statuses).toEqual([...Array(10).fill(200), 429]);
  });

  test('accepts a decision only from a person in a browser on a page of this API', async () => {
    const { headers, cookie } = await person('deployers');
    const { userCode } = await startLogin();
    const body = { decision: 'approve', tenant_id: admin.tenantId };
    const keyed = await call(one, ['POST', '/v2/auth/key-session'], {
      origin: PUBLIC_URL,
      body: { api_key: admin.key },
    });
    const [keyCookie = ''] = [keyed.headers['set-cookie']].flat().map((each) => String(each).split(';')[0]);
    const cases: [object, number][] = [
      [{ origin: PUBLIC_URL }, 401],
      [{ cookie }, 403],
      [{ cookie, origin: 'https://app.example.com' }, 403],
      [{ cookie, origin: 'null' }, 403],
      [{ cookie: keyCookie, origin: PUBLIC_URL }, 403],
      [{ 'x-api-key': admin.key, origin: PUBLIC_URL }, 401],
      [{ ...bearer((await personToken('leads')).token), origin: PUBLIC_URL }, 401],
    ];
    for (const [sent, status] of cases)
      expect((await decide(userCode, sent, body)).status, JSON.stringify(sent)).toBe(status);
    expect((await decide(userCode, headers, body)).status).toBe(204);
  });

  test.each<[string, Body]>([
    ['a role that the person lacks', { roles: ['secrets'] }],
    ['a tenant of others', { tenant_id: '01890000-0000-7000-8000-00000000dead' }],
    ['the platform', { tenant_id: null }],
    ['the role of the platform', { roles: ['platform_admin'] }],
  ])('does not give %s', async (_what, more) => {
    const { headers } = await person('deployers');
    const { userCode } = await startLogin();
    const answer = await decide(userCode, headers, {
      decision: 'approve',
      tenant_id: admin.tenantId,
      ...more,
    });
    expect([answer.status, typeOf(answer)]).toEqual([400, 'roles_beyond_own']);
  });

  test('does not approve a login without a tenant', async () => {
    access = {
      groups: [{ issuer: IDP, group: 'root', roles: ['platform_admin'] } as never],
      workload_issuers: [],
    };
    const { headers } = await person('root');
    const { deviceCode, userCode } = await startLogin();
    expect(await decide(userCode, headers, { decision: 'approve' })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'tenant_id'] }] },
    });
    const answer = await one.app.inject({
      method: 'POST',
      url: '/auth/device',
      headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({ code: userCode, decision: 'approve' }).toString(),
    });
    expect(answer.statusCode).toBe(400);
    expect(typeOf(await poll(deviceCode))).toBe('authorization_pending');
  });

  test('gives an admin of the platform a token for the platform, or for any tenant', async () => {
    access = {
      groups: [{ issuer: IDP, group: 'platform', roles: ['platform_admin'] } as never],
      workload_issuers: [],
    };
    const { headers } = await person('platform');
    for (const [tenant_id, status] of [
      [null, 200],
      [admin.tenantId, 403],
    ] as const) {
      const { deviceCode, userCode } = await startLogin({ tenant: tenantName });
      expect((await decide(userCode, headers, { decision: 'approve', tenant_id })).status).toBe(204);
      const { body } = await poll(deviceCode);
      expect((await call(one, ['GET', '/v2/tenants'], bearer(body['access_token']))).status).toBe(status);
    }
  });

  test('takes a role from the token at once when the person loses it, and ends its streams', async () => {
    const { token, personId } = await personToken('leads');
    const stream = await follow(token);
    expect((await call(two, ['GET', '/v2/usage'], bearer(token))).status).toBe(200);
    access = { groups: [groupRule('deployers', 'deployer')], workload_issuers: [] };
    expect((await call(two, ['GET', '/v2/usage'], bearer(token))).status).toBe(403);
    expect(await untilDenied(stream)).toBeLessThan(6_000);
    access = { groups: [groupRule('leads', 'admin')], workload_issuers: [] };
    expect((await call(two, ['GET', '/v2/usage'], bearer(token))).status).toBe(200);
    // Groups that the identity provider states at the next sign-in count, too.
    await one.store.sql(`UPDATE people SET groups = '{}' WHERE id = $1`, [personId]);
    expect((await call(two, ['GET', '/v2/usage'], bearer(token))).status).toBe(403);
  });

  test('ends with the sessions and approved logins of its person when an admin of the platform signs the person out', async () => {
    const { token, headers, personId } = await personToken('deployers');
    const { deviceCode, userCode } = await startLogin();
    const body = { decision: 'approve', tenant_id: admin.tenantId };
    expect((await decide(userCode, headers, body)).status).toBe(204);
    const path = `/v2/auth/people/${personId}/sign-out`;
    expect((await call(one, ['POST', path], bearer((await personToken('leads')).token))).status).toBe(403);
    expect((await admin.call('POST', path)).status).toBe(204);
    expect((await call(two, ['GET', '/v2/usage'], bearer(token))).status).toBe(401);
    expect((await call(two, ['GET', '/v2/usage'], headers)).status).toBe(401);
    expect(typeOf(await poll(deviceCode))).toBe('access_denied');
  });

  test('can be revoked by a person who has lost the last role', async () => {
    const { token } = await personToken('deployers');
    const rules = access;
    access = NO_ACCESS;
    expect((await call(one, ['GET', '/v2/auth/tokens'], bearer(token))).status).toBe(403);
    expect((await call(one, ['DELETE', '/v2/auth/token'], bearer(token))).status).toBe(204);
    access = rules;
    expect((await call(one, ['GET', '/v2/usage'], bearer(token))).status).toBe(401);
  });

  test('has no role when its person is of an identity provider that is no longer configured', async () => {
    const former = 'https://former.example.com';
    const rule = groupRule('movers', 'deployer');
    access = { groups: [rule, { ...rule, issuer: former }], workload_issuers: [] };
    const { token, personId } = await personToken('movers');
    expect((await call(one, ['GET', '/v2/usage'], bearer(token))).status).toBe(200);
    await one.store.sql('UPDATE people SET issuer = $2 WHERE id = $1', [personId, former]);
    expect((await call(one, ['GET', '/v2/usage'], bearer(token))).status).toBe(403);
  });

  test('lists and revokes own tokens, and for admins those of the tenant', async () => {
    const [mine, other, lead] = [
      await personToken('deployers'),
      await personToken('deployers'),
      await personToken('leads'),
    ];
    const idsOf = async (token: string, query = '') =>
      (
        await call<{ resources: { id: string }[] }>(one, ['GET', `/v2/auth/tokens${query}`], bearer(token))
      ).body.resources?.map(({ id }) => id);
    // Both tokens are of one person.
    expect(await idsOf(mine.token)).toEqual(expect.arrayContaining([mine.id, other.id]));
    expect(await idsOf(mine.token)).not.toContain(lead.id);
    expect((await call(one, ['GET', '/v2/auth/tokens?all=true'], bearer(mine.token))).status).toBe(403);
    expect(await idsOf(lead.token, '?all=true&limit=100')).toEqual(
      expect.arrayContaining([mine.id, other.id, lead.id]),
    );
    const revoke = (token: string, id: string) =>
      call(one, ['DELETE', `/v2/auth/tokens/${id}`], bearer(token));
    expect((await revoke(mine.token, lead.id)).status).toBe(404);
    expect((await revoke(mine.token, other.id)).status).toBe(204);
    expect((await revoke(lead.token, mine.id)).status).toBe(204);
    expect((await call(two, ['GET', '/v2/usage'], bearer(mine.token))).status).toBe(401);
    const outsider = await one.tenant();
    expect(await outsider.call('DELETE', `/v2/auth/tokens/${lead.id}`)).toMatchObject({ status: 404 });
    const { body } = await admin.call<{ resources: Body[] }>(
      'GET',
      '/v2/events?limit=1&reason=AccessTokenRevoked',
    );
    expect(body.resources).toMatchObject([{ actor: { kind: 'person', name: 'Ada Example' } }]);
  });

  test('does not list or revoke tokens of the person for another tenant', async () => {
    const [shop, bank] = [await personToken('deployers'), await personToken('deployers')];
    const other = await one.tenant();
    await one.store.sql('UPDATE access_tokens SET tenant_id = $2 WHERE id = $1', [bank.id, other.tenantId]);
    const list = await call<{ resources: { id: string }[] }>(
      one,
      ['GET', '/v2/auth/tokens'],
      bearer(shop.token),
    );
    expect(list.body.resources.map(({ id }) => id)).not.toContain(bank.id);
    const path = `/v2/auth/tokens/${bank.id}`;
    expect((await call(one, ['DELETE', path], bearer(shop.token))).status).toBe(404);
    // In the browser, the person sees and revokes all of them.
    expect((await call(one, ['DELETE', path], shop.headers)).status).toBe(204);
  });

  test('an API key cannot ask for its own token', async () => {
    expect((await admin.call('GET', '/v2/auth/token')).status).toBe(409);
    expect((await admin.call<{ resources: unknown[] }>('GET', '/v2/auth/tokens')).body.resources).toEqual([]);
  });
});

describe('the page', () => {
  beforeEach(() => {
    access = { groups: [groupRule('deployers', 'deployer')], workload_issuers: [] };
  });

  const page = (method: 'GET' | 'POST', headers: object, form?: Record<string, string>, query = '') =>
    one.app.inject({
      method,
      url: `/auth/device${query}`,
      headers: {
        ...headers,
        ...(form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(form === undefined ? {} : { payload: new URLSearchParams(form).toString() }),
    });

  test('sends a browser without a session to the sign-in, and back', async () => {
    const answer = await page('GET', {});
    expect(answer.statusCode).toBe(303);
    expect(answer.headers.location).toBe('/v2/auth/sign-in?return_to=%2Fauth%2Fdevice');
  });

  test('confirms a login without a script, under a strict policy', async () => {
    const { headers } = await person('deployers', '<b>Ada</b>');
    const { deviceCode, userCode } = await startLogin({ machine: '<script>alert(1)</script>"\'' });
    // A link cannot contain the code.
    const entry = await page('GET', headers, undefined, `?code=${userCode}`);
    expect(entry.statusCode).toBe(200);
    expect(entry.payload).not.toContain(userCode);
    const shown = await page('POST', headers, { code: userCode.toLowerCase() });
    expect(shown.statusCode).toBe(200);
    for (const { headers: sent, payload } of [entry, shown]) {
      expect(sent['content-security-policy']).toMatch(
        /^default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; style-src 'sha256-[^']+'$/,
      );
      expect(sent['referrer-policy']).toBe('same-origin');
      expect(sent['cache-control']).toBe('no-store');
      expect(payload).not.toMatch(/<script|<b>|\son\w+=/i);
    }
    expect(shown.payload).toContain(userCode);
    expect(shown.payload).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;');
    expect(shown.payload).toContain(`<option value="${admin.tenantId}/deployer">`);
    const grant = `${admin.tenantId}/viewer`;
    const foreign = await page(
      'POST',
      { ...headers, origin: 'https://app.example.com' },
      { code: userCode, decision: 'approve', grant },
    );
    expect(foreign.statusCode).toBe(403);
    const approved = await page('POST', headers, { code: userCode, decision: 'approve', grant });
    expect(approved.payload).toContain('<h1>Approved</h1>');
    expect((await poll(deviceCode)).body).toMatchObject({ roles: ['viewer'] });
  });

  test('denies a login, and says when a code is not known or a form was changed', async () => {
    const { headers } = await person('deployers');
    const { deviceCode, userCode } = await startLogin();
    for (const grant of ['x', `${admin.tenantId}/root`])
      expect((await page('POST', headers, { code: userCode, decision: 'approve', grant })).statusCode).toBe(
        403,
      );
    const beyond = await page('POST', headers, {
      code: userCode,
      decision: 'approve',
      grant: `${admin.tenantId}/admin`,
    });
    expect([beyond.statusCode, beyond.payload]).toEqual([
      400,
      expect.stringContaining('roles that you have'),
    ]);
    expect((await page('POST', headers, { code: userCode, decision: 'deny' })).payload).toContain(
      '<h1>Denied</h1>',
    );
    expect(typeOf(await poll(deviceCode))).toBe('access_denied');
    const unknown = await page('POST', headers, { code: userCode });
    expect([unknown.statusCode, unknown.payload]).toEqual([
      404,
      expect.stringContaining('not known, or has expired'),
    ]);
  });
});
