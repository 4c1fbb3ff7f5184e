/** /v2/api-keys and `berth keys create`: shown once, never more than the caller has, ended in time. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { runCli } from '../../../../src/cli/run.ts';
import { hashApiKey } from '../../../../src/hub/store/tenancy/api-keys.ts';
import { ALL_SCOPES, type ApiFixture, type Client, startApi, uniqueName } from '../../harness/api.ts';

interface ApiKey {
  id: string;
  tenant_id: string | null;
  name: string;
  prefix: string;
  scopes: string[];
  expires_at: string | null;
  revoked_at: string | null;
  key?: string;
}
interface List {
  resources: ApiKey[];
  offset: number;
}

/** The time of the API, in milliseconds ahead of the real one. */
let ahead = 0;
let api: ApiFixture;
let admin: Client;
let platform: Client;
beforeAll(async () => {
  api = await startApi({ deps: { clock: () => new Date(Date.now() + ahead) } });
  admin = await api.tenant();
  platform = await api.client(null, ALL_SCOPES);
});
afterAll(() => api.stop());

const url = '/v2/api-keys';
const READ = ['deployments:read'];
const inAnHour = () => new Date(Date.now() + ahead + 3_600_000).toISOString();

async function make(by: Client, more: object = {}, headers: Record<string, string> = {}) {
  const answer = await by.call<ApiKey>('POST', url, { name: 'ci', scopes: READ, ...more }, headers);
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return { ...answer.body, key: answer.body.key ?? '' };
}

async function statusWith(key: string, path = '/v2/deployments'): Promise<number> {
  return (await api.app.inject({ url: path, headers: { 'x-api-key': key } })).statusCode;
}

describe('a key that expires', () => {
  const WITHIN = ['expires_at'];
  const later = (iso: string | null) => new Date(Date.parse(iso ?? '') + 1000).toISOString();

  test('cannot create a key that expires later than itself or never', async () => {
    const temporary = await make(platform, { scopes: ['admin'], expires_at: inAnHour(), platform: true });
    const post = (more: object) =>
      api.app.inject({
        method: 'POST',
        url,
        headers: { 'x-api-key': temporary.key },
        payload: { name: 'more', scopes: ['admin'], platform: true, ...more },
      });
    for (const expires_at of [undefined, null, later(temporary.expires_at)]) {
      const answer = await post({ expires_at });
      expect(answer.statusCode).toBe(400);
      expect(answer.json()).toMatchObject({
        detail: [{ loc: ['body', ...WITHIN], type: 'expires_beyond_own' }],
      });
    }
    expect((await post({ expires_at: temporary.expires_at })).statusCode).toBe(201);
  });
});

describe('an API key', () => {
  test('is shown once, works immediately, and is stored only as a hash', async () => {
    const made = await make(admin, { name: 'deploy bot' });
    expect(made).toMatchObject({ tenant_id: admin.tenantId, name: 'deploy bot', scopes: READ });
    expect(made.key).toMatch(/^berth_[\w-]{43}$/);
    expect(await statusWith(made.key)).toBe(200);
    const { key, id, name, scopes, tenant_id } = made;
    const read = await admin.call<ApiKey>('GET', `${url}/${made.id}`);
    expect(read.body).toMatchObject({ id, name, scopes, tenant_id, prefix: key.slice(0, 12) });
    const texts = [
      JSON.stringify(read.body),
      JSON.stringify((await admin.call('GET', url)).body),
      JSON.stringify((await admin.call('GET', '/v2/events')).body),
      JSON.stringify(await api.store.sql('SELECT * FROM api_keys')),
      JSON.stringify(await api.store.sql('SELECT * FROM events')),
      JSON.stringify(api.store.logger.lines),
    ];
    for (const text of texts) expect(text).not.toContain(key.slice(14));
    for (const text of [...texts.slice(0, 3), ...texts.slice(4)]) expect(text).not.toContain(hashApiKey(key));
  });

  test('belongs to the tenant in X-Tenant-Id, or to that of the caller by default', async () => {
    const other = await api.tenant();
    expect((await make(admin, {}, { 'x-tenant-id': other.tenantId })).tenant_id).toBe(other.tenantId);
    expect((await make(platform, {}, { 'x-tenant-id': other.tenantId })).tenant_id).toBe(other.tenantId);
    expect(await platform.call('POST', url, { name: 'x', scopes: READ })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['header', 'X-Tenant-Id'] }] },
    });
  });

  test('of the platform is created only on request, and is listed separately', async () => {
    const made = await make(admin, { platform: true, scopes: ['listeners:run'] });
    expect(made.tenant_id).toBeNull();
    const list = async (by: Client, query: string) =>
      (await by.call<List>('GET', `${url}${query}`)).body.resources.map(({ id }) => id);
    expect(await list(admin, '?platform=true&limit=100')).toContain(made.id);
    expect(await list(admin, '?limit=100')).not.toContain(made.id);
    expect(await list(platform, '?limit=100')).toContain(made.id);
    expect((await admin.call('GET', `${url}/${made.id}`)).status).toBe(200);
    expect((await admin.call('DELETE', `${url}/${made.id}`)).status).toBe(204);
  });

  test('of another tenant is found only by the platform or with that tenant in X-Tenant-Id', async () => {
    const other = await api.tenant();
    const { id } = await make(other);
    expect((await admin.call('GET', `${url}/${id}`)).status).toBe(404);
    expect((await admin.call('DELETE', `${url}/${id}`)).status).toBe(404);
    expect((await platform.call('GET', `${url}/${id}`)).status).toBe(200);
    const named = { 'x-tenant-id': other.tenantId };
    expect((await admin.call('GET', `${url}/${id}`, undefined, named)).status).toBe(200);
  });
});

describe('/v2/api-keys', () => {
  test('returns 403 to a key without admin', async () => {
    const plain = await api.client(
      admin.tenantId,
      ALL_SCOPES.filter((scope) => scope !== 'admin'),
    );
    const { id } = await make(admin);
    expect((await plain.call('POST', url, { name: 'x', scopes: READ })).status).toBe(403);
    expect((await plain.call('GET', url)).status).toBe(403);
    expect((await plain.call('GET', `${url}/${id}`)).status).toBe(403);
    expect((await plain.call('DELETE', `${url}/${id}`)).status).toBe(403);
    expect((await admin.call<ApiKey>('GET', `${url}/${id}`)).body.revoked_at).toBeNull();
  });

  test('rejects a scope that the calling key does not have with 400 that names it, and creates no key', async () => {
    const little = await api.client(admin.tenantId, ['admin', 'deployments:read']);
    const count = () => api.store.sql('SELECT id FROM api_keys').then((rows) => rows.length);
    const before = await count();
    const answer = await little.call('POST', url, {
      name: 'more',
      scopes: ['deployments:read', 'secrets:read', 'listeners:run'],
      platform: true,
    });
    expect(answer).toMatchObject({
      status: 400,
      body: {
        detail: [
          { loc: ['body', 'scopes', 1], type: 'scope_beyond_own' },
          { loc: ['body', 'scopes', 2], type: 'scope_beyond_own' },
        ],
      },
    });
    expect(await count()).toBe(before);
  });

  test.each([
    [{ name: 'x' }, ['body', 'scopes'], 422],
    [{ name: 'x', scopes: [] }, ['body', 'scopes'], 422],
    [{ name: 'x', scopes: ['root'] }, ['body', 'scopes', 0], 422],
    [{ name: 'x', scopes: [...READ, ...READ] }, ['body', 'scopes'], 422],
    [{ name: 'x'.repeat(129), scopes: READ }, ['body', 'name'], 422],
    [{ name: ' ', scopes: READ }, ['body', 'name'], 422],
    [{ name: 'x', scopes: READ, key: 'mine' }, ['body', 'key'], 422],
    [{ name: 'x', scopes: READ, expires_at: 'tomorrow' }, ['body', 'expires_at'], 422],
    [{ name: 'x', scopes: READ, expires_at: '2030-01-31' }, ['body', 'expires_at'], 422],
    [{ name: 'x', scopes: READ, expires_at: '2020-01-31T00:00:00Z' }, ['body', 'expires_at'], 400],
  ])('rejects %j and names the field', async (body, loc, status) => {
    expect(await admin.call('POST', url, body)).toMatchObject({ status, body: { detail: [{ loc }] } });
  });
});

describe('the end of a key', () => {
  test('by expiry applies to a key that the process has cached', async () => {
    const made = await make(admin, { expires_at: inAnHour() });
    expect(await statusWith(made.key)).toBe(200);
    ahead += 3_600_001;
    // Within the seconds that a key is remembered for.
    expect(await statusWith(made.key)).toBe(401);
    ahead -= 3_600_001;
    expect(await statusWith(made.key)).toBe(200);
  });

  test('by expiry follows the clock of the database when the clock of the process differs', async () => {
    const made = await make(admin, { expires_at: inAnHour() });
    await api.store.sql(`UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE id = $1`, [
      made.id,
    ]);
    expect(await statusWith(made.key)).toBe(401);
  });

  test('by revocation returns 204 each time, records one event, and takes effect within seconds', async () => {
    const made = await make(admin);
    expect(await statusWith(made.key)).toBe(200);
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => admin.call('DELETE', `${url}/${made.id}`)),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(204));
    expect((await admin.call('DELETE', `${url}/${made.id}`)).status).toBe(204);
    expect((await admin.call<ApiKey>('GET', `${url}/${made.id}`)).body.revoked_at).not.toBeNull();
    const noted = await api.store.sql(
      `SELECT 1 FROM events WHERE reason = 'ApiKeyRevoked' AND details->>'api_key_id' = $1`,
      [made.id],
    );
    expect(noted).toHaveLength(1);
    await expect.poll(() => statusWith(made.key), { timeout: 20_000, interval: 500 }).toBe(401);
  });

  test('by revocation returns 409 for the calling key itself, and 404 for an unknown key', async () => {
    const [own] = await api.store.sql<{ id: string }>('SELECT id FROM api_keys WHERE hash = $1', [
      hashApiKey(admin.key),
    ]);
    expect(await admin.call('DELETE', `${url}/${own?.id}`)).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('itself') },
    });
    expect((await admin.call('DELETE', `${url}/01890000-0000-7000-8000-00000000dead`)).status).toBe(404);
    expect((await admin.call('GET', url)).status).toBe(200);
  });
});

describe('berth keys create', () => {
  const printed: string[] = [];
  /** Runs the command in this process. Returns its output. */
  const run = async (...args: string[]) => {
    printed.length = 0;
    for (const stream of ['log', 'error'] as const)
      vi.spyOn(console, stream).mockImplementation((text) => void printed.push(String(text)));
    vi.stubEnv('DATABASE_URL', api.store.url);
    try {
      const code = await runCli(['keys', 'create', ...args]);
      return { code, text: printed.join('\n') };
    } finally {
      vi.restoreAllMocks();
      vi.unstubAllEnvs();
    }
  };

  test('creates a working key with its expiry and an event', async () => {
    const tenant = uniqueName('cli');
    const { text } = await run('--tenant', tenant, '--name', 'ops', '--expires', '90d', '-o', 'json');
    const made = JSON.parse(text) as { api_key: string; api_key_id: string; expires_at: string };
    expect(await statusWith(made.api_key)).toBe(200);
    const days = (new Date(made.expires_at).getTime() - Date.now()) / 86_400_000;
    expect(Math.abs(days - 90)).toBeLessThan(1);
    const shown = await platform.call<ApiKey>('GET', `${url}/${made.api_key_id}`);
    expect(shown.body).toMatchObject({ name: 'ops', expires_at: made.expires_at });
    const [event] = await api.store.sql<{ actor_name: string }>(
      `SELECT actor_name FROM events WHERE details->>'api_key_id' = $1`,
      [made.api_key_id],
    );
    expect(event?.actor_name).toBe('berth keys create');
    expect((await run('--platform', '--name', 'l', '--expires', '2099-01-01T00:00:00Z')).text).toContain(
      'The key expires at 2099-01-01T00:00:00.000Z.',
    );
    expect((await run('--platform', '--name', 'l')).text).toContain('The key does not expire.');
  });

  test.each([
    ['a no-break space', 'Corp\u00a0', ['Corp\u00a0', 'Corp', 'Corp ']],
    ['a no-break space inside', 'Acme\u00a0Corp', ['Acme\u00a0Corp', 'Acme Corp']],
    ['a decomposed letter', 'Cafe\u0301', ['Cafe\u0301', 'Caf\u00e9']],
  ])('uses the tenant that was stored with %s', async (_what, name, spellings) => {
    const prefix = uniqueName('stored');
    const id = crypto.randomUUID();
    await api.store.sql('INSERT INTO tenants (id, name) VALUES ($1, $2)', [id, `${prefix} ${name}`]);
    for (const spelling of spellings) {
      const { text } = await run('--tenant', `${prefix} ${spelling}`, '--name', 'ops', '-o', 'json');
      expect(JSON.parse(text), JSON.stringify(spelling)).toMatchObject({ tenant_id: id });
      const again = await platform.call('POST', '/v2/tenants', { name: `${prefix} ${spelling}` });
      expect(again.status).toBe(409);
    }
  });

  test.each([
    [['--expires', 'soon'], '--expires'],
    [['--expires', '0d'], '--expires'],
    [['--expires', '2020-01-01T00:00:00Z'], '--expires'],
    [['--expires', '2030-13-01T00:00:00Z'], '--expires'],
    [['--name', 'x'.repeat(129)], '--name'],
    [['--name', ' '], '--name'],
  ])('rejects %j and names the option', async (args, option) => {
    const all = args.includes('--name') ? args : ['--name', 'x', ...args];
    const { code, text } = await run('--platform', ...all);
    expect(code).toBe(2);
    expect(text).toMatch(/^berth: [^\n]+; see berth keys create --help$/);
    expect(text).toContain(option);
  });
});
