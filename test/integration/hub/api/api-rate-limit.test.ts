/** Rate limits: of a key, of an address that fails to authenticate; and the caps on what a request may hold. */
import { afterEach, describe, expect, test } from 'vitest';
import { PLATFORM_LISTENER_ID } from '../../../../src/domain/deployment/source.ts';
import { resolvePolicy } from '../../../../src/domain/policy/policy.ts';
import type { ApiDeps } from '../../../../src/hub/api/core/deps.ts';
import { hashApiKey } from '../../../../src/hub/store/tenancy/api-keys.ts';
import { ALL_SCOPES, type ApiFixture, create, createBody, startApi } from '../../harness/api.ts';

/** So slow that nothing comes back while a test runs. */
const few = (burst: number) => ({ perSecond: 0.01, burst });

let running: ApiFixture | undefined;
const start = async (deps: Partial<ApiDeps>) => {
  running = await startApi({ deps });
  return running;
};
afterEach(async () => {
  await running?.stop();
  running = undefined;
});

const url = '/v2/deployments';

interface Sent {
  readonly url?: string;
  readonly remoteAddress?: string;
  readonly headers?: Record<string, string>;
}

async function call(api: ApiFixture, key: string | null, { headers, ...more }: Sent = {}) {
  const response = await api.app.inject({
    url,
    ...more,
    headers: { ...(key === null ? {} : { 'x-api-key': key }), ...headers },
  });
  return { status: response.statusCode, retryAfter: response.headers['retry-after'], body: response.json() };
}

async function statuses(
  times: number,
  work: () => Promise<{ status: number }>,
): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (let index = 0; index < times; index += 1) {
    const { status } = await work();
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

describe('the rate limit of a key', () => {
  test('returns 429 with Retry-After in the documented form before anything is read or written', async () => {
    const api = await start({ rateLimits: { perKey: few(3), failures: null } });
    const client = await api.tenant();
    expect(await statuses(3, () => client.call('GET', url))).toEqual({ 200: 3 });
    const before = await api.rowCounts();
    const refused = await client.call('POST', url, createBody());
    expect(refused).toMatchObject({
      status: 429,
      body: { detail: 'The API key has made too many requests. Try again later.' },
    });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(refused.headers['x-request-id']).toBeDefined();
    expect(await api.rowCounts()).toEqual(before);
  });

  test('applies to each key separately, so other keys of the tenant and probes are not affected', async () => {
    const api = await start({ rateLimits: { perKey: few(2), failures: null } });
    const client = await api.tenant();
    const other = await api.client(client.tenantId, ALL_SCOPES);
    expect(await statuses(4, () => client.call('GET', url))).toEqual({ 200: 2, 429: 2 });
    expect((await other.call('GET', url)).status).toBe(200);
    expect(await statuses(20, () => client.call('GET', '/healthz'))).toEqual({ 200: 20 });
  });

  test('applies to simultaneous requests', async () => {
    const api = await start({ rateLimits: { perKey: few(5), failures: null } });
    const client = await api.tenant();
    const answers = await Promise.all(Array.from({ length: 30 }, () => client.call('GET', url)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
  });

  test('counts requests that are rejected for their scope', async () => {
    const api = await start({ rateLimits: { perKey: few(2), failures: null } });
    const { tenantId } = await api.tenant();
    const reader = await api.client(tenantId, ['deployments:read']);
    expect(await statuses(4, () => reader.call('POST', url, createBody()))).toEqual({ 403: 2, 429: 2 });
  });

  test('accepts a request again when a token is refilled', async () => {
    const api = await start({ rateLimits: { perKey: { perSecond: 5, burst: 1 }, failures: null } });
    const client = await api.tenant();
    await client.call('GET', url);
    await expect
      .poll(async () => (await client.call('GET', url)).status, { timeout: 20_000, interval: 250 })
      .toBe(200);
  });

  test('is ten times as high for a listener, separate from other calls, and absent for the internal listener', async () => {
    const internalKey = { hash: hashApiKey('internal'), scopes: ['listeners:run'], platform: true } as const;
    const api = await start({ rateLimits: { perKey: few(2), failures: null }, internalKey });
    const listener = await api.client(null, ALL_SCOPES);
    const work = `/v2/listeners/${PLATFORM_LISTENER_ID}/work?epoch=1`;
    expect(await statuses(25, () => listener.call('GET', work))).toEqual({ 409: 20, 429: 5 });
    expect((await listener.call('GET', '/v2/tenants')).status).toBe(200);
    expect(await statuses(100, () => call(api, 'internal', { url: work }))).toEqual({ 409: 100 });
  });
});

describe('the limit of reads of logs and objects', () => {
  test('returns 429 with Retry-After to one tenant, and serves another one', async () => {
    const api = await start({
      rateLimits: { perKey: null, failures: null, clusterReads: few(2) },
      objectAnswerMs: 50,
    });
    const platform = await api.client(null, ALL_SCOPES);
    const lease = { holder: 'a', version: '1', cluster_version: 'v1.36.0', rendering: null, epoch: null };
    const abilities = ['previous', 'objects'];
    await platform.call('PUT', `/v2/listeners/${PLATFORM_LISTENER_ID}/lease`, { ...lease, abilities });
    const reader = async () => {
      const client = await api.tenant();
      const { id } = await create(client);
      return (path: string) => client.call('GET', `${url}/${id}/${path}`);
    };
    const [first, other] = [await reader(), await reader()];
    // No listener answers. The concurrent requests share a read.
    expect(await Promise.all([first('objects'), first('objects')])).toMatchObject([
      { status: 504 },
      { status: 504 },
    ]);
    expect(await first('objects/Pod/web')).toMatchObject({ status: 504 });
    for (const path of ['objects', 'objects/Pod/web', 'logs']) {
      const { status, headers, body } = await first(path);
      expect([status, body], path).toEqual([
        429,
        { detail: expect.stringMatching(/logs and objects too often/) },
      ]);
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    }
    expect(await other('objects')).toMatchObject({ status: 504 });
  });
});

describe('the limit of failed authentications from an address', () => {
  const attempt = (api: ApiFixture, from: string, key: string | null = 'wrong') =>
    call(api, key, { remoteAddress: from });

  test('returns 429 instead of 401 for a missing, a wrong and an overlong key alike', async () => {
    const api = await start({ rateLimits: { perKey: null, failures: few(3) } });
    for (const key of [null, 'wrong', 'x'.repeat(600)]) {
      expect((await attempt(api, '192.0.2.1', key)).status).toBe(401);
    }
    for (const key of [null, 'wrong', 'x'.repeat(600)]) {
      const refused = await attempt(api, '192.0.2.1', key);
      expect(refused).toMatchObject({
        status: 429,
        body: {
          detail: 'Too many requests without a valid API key were made from this address. Try again later.',
        },
      });
      expect(Number(refused.retryAfter)).toBeGreaterThan(0);
    }
    expect((await attempt(api, '192.0.2.2')).status).toBe(401);
  });

  test('never blocks a valid key from the same address, whether it is cached or new', async () => {
    const api = await start({ rateLimits: { perKey: null, failures: few(1) } });
    const known = await api.tenant();
    const from = { remoteAddress: '192.0.2.1' };
    expect((await call(api, known.key, from)).status).toBe(200);
    expect(await statuses(50, () => attempt(api, '192.0.2.1'))).toEqual({ 401: 1, 429: 49 });
    const fresh = await api.tenant();
    expect((await call(api, known.key, from)).status).toBe(200);
    expect((await call(api, fresh.key, from)).status).toBe(200);
  });

  test('counts an IPv6 /64 network once, and ignores a forged X-Forwarded-For', async () => {
    const api = await start({ rateLimits: { perKey: null, failures: few(2) } });
    expect((await attempt(api, '2001:db8:1:2::1')).status).toBe(401);
    expect((await attempt(api, '2001:db8:1:2:ffff::2')).status).toBe(401);
    expect((await attempt(api, '2001:db8:1:2:aaaa::3')).status).toBe(429);
    expect((await attempt(api, '2001:db8:1:3::1')).status).toBe(401);
    let forged = 0;
    const forge = () =>
      call(api, 'wrong', {
        remoteAddress: '192.0.2.9',
        headers: { 'x-forwarded-for': `203.0.113.${forged++}` },
      });
    expect(await statuses(6, forge)).toEqual({ 401: 2, 429: 4 });
  });

  test('counts the client behind a trusted proxy, and an untrusted proxy itself', async () => {
    const api = await start({
      rateLimits: { perKey: null, failures: few(1) },
      trustProxy: ['10.0.0.0/8'],
    });
    const through = (proxy: string, client: string) =>
      call(api, 'wrong', { remoteAddress: proxy, headers: { 'x-forwarded-for': client } });
    expect((await through('10.1.1.1', '203.0.113.1')).status).toBe(401);
    expect((await through('10.1.1.2', '203.0.113.1')).status).toBe(429);
    expect((await through('10.1.1.1', '203.0.113.2')).status).toBe(401);
    // Only what the trusted proxy itself has appended counts.
    expect((await through('10.1.1.1', '198.51.100.7, 203.0.113.2')).status).toBe(429);
    expect((await through('192.0.2.1', '203.0.113.3')).status).toBe(401);
    expect((await through('192.0.2.1', '203.0.113.4')).status).toBe(429);
    expect((await through('10.1.1.1', 'nonsense')).status).toBe(401);
  });
});

describe('the size limit of a request body', () => {
  test('follows the policy and returns 413, but is larger for listeners', async () => {
    const api = await start({ policy: resolvePolicy('self_hosted', { body_bytes: 2048 }) });
    const client = await api.tenant();
    const body = (bytes: number) => createBody({ secrets: [{ name: 'A', value: 'x'.repeat(bytes) }] });
    expect((await client.call('POST', url, body(1000))).status).toBe(201);
    expect(await client.call('POST', url, body(3000))).toMatchObject({
      status: 413,
      body: { detail: 'The body is too large.' },
    });
    const reports = `/v2/listeners/${PLATFORM_LISTENER_ID}/inventory`;
    const item = {
      deployment_id: '01890000-0000-7000-8000-00000000dead',
      name: 'x'.repeat(200),
      namespace: 'apps',
      uid: null,
      generation: 1,
      spec_hash: 'h',
      applied_hash: 'h',
    };
    const large = { epoch: 1, complete: false, items: Array.from({ length: 50 }, () => item) };
    const listener = await api.client(null, ALL_SCOPES);
    expect((await listener.call('POST', reports, large)).status).not.toBe(413);
  });

  test('is half as large in cloud mode as in self_hosted mode by default', async () => {
    const api = await startApi({ hosting: 'cloud' });
    running = api;
    const client = await api.tenant();
    const body = `{"name":"${' '.repeat(600 * 1024)}"}`;
    expect((await client.call('POST', url, body)).status).toBe(413);
  });
});
