/** The token endpoint of the platform's registry as its clients call it: forms, scopes, refusals, limits. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TOKEN_PATH } from '../../../../src/hub/registry/registry-config.ts';
import { removeRecord } from '../../../../src/hub/store/deployments/deployment-remove.ts';
import { type ApiFixture, type Client, create, platformRegistry, startApi } from '../../harness/api.ts';
import { sweep } from '../../harness/store.ts';

interface PushToken {
  registry_url: string;
  image_uri: string;
  username: string;
  token: string;
}
interface Issued {
  token: string;
  access_token: string;
  expires_in: number;
}

const asking = platformRegistry();
let now = new Date();
let api: ApiFixture;
let client: Client;
let id: string;
let push: PushToken;
let path: string;
beforeAll(async () => {
  api = await startApi({
    deps: {
      ...asking,
      clock: () => now,
      pushTokenSeconds: 600,
      rateLimits: { perKey: null, failures: { perSecond: 0.001, burst: 3 } },
    },
  });
  client = await api.tenant();
  ({ id } = await create(client, { source: 'internal_image', source_revision_config: {} }));
  ({ body: push } = await client.call<PushToken>('POST', `/v2/deployments/${id}/push-token`));
  path = push.image_uri.slice(push.registry_url.length + 1);
});
afterAll(() => api.stop());

const basic = (password: string, username = 'anybody') =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
let addresses = 0;

/** Each call from an address of its own, unless one is given. */
async function get(query: string, authorization?: string, remoteAddress?: string) {
  addresses += 1;
  return api.app.inject({
    url: `${TOKEN_PATH}?${query}`,
    remoteAddress: remoteAddress ?? `10.1.0.${addresses}`,
    headers: authorization === undefined ? {} : { authorization },
  });
}
async function post(body: string, type = 'application/x-www-form-urlencoded') {
  addresses += 1;
  return api.app.inject({
    method: 'POST',
    url: TOKEN_PATH,
    remoteAddress: `10.1.0.${addresses}`,
    headers: { 'content-type': type },
    payload: body,
  });
}
function accessOf({ token }: Issued): unknown {
  const [, payload = ''] = token.split('.');
  return (JSON.parse(Buffer.from(payload, 'base64url').toString()) as { access: unknown }).access;
}
const all = (...actions: string[]) => [{ type: 'repository', name: path, actions }];

describe('a token', () => {
  test('is issued for a login without scopes, as docker sends it', async () => {
    const answer = await get(
      'account=berth&client_id=docker&offline_token=true&service=registry.platform.example',
      basic(push.token),
    );
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['cache-control']).toBe('no-store');
    const issued = answer.json<Issued>();
    expect(issued.access_token).toBe(issued.token);
    expect(issued.expires_in).toBeGreaterThanOrEqual(60);
    expect(accessOf(issued)).toEqual([]);
  });

  test('grants what the credential allows of several scopes, in one or in repeated parameters', async () => {
    const one = encodeURIComponent(`repository:${path}:pull,push,delete`);
    const other = encodeURIComponent('repository:else/where:pull registry:catalog:*');
    for (const query of [`scope=${one}&scope=${other}`, `scope=${one}%20${other}`]) {
      const answer = await get(query, basic(push.token));
      expect(accessOf(answer.json())).toEqual(all('pull', 'push'));
    }
  });

  test('is issued for a form with a password or a refresh token', async () => {
    const scope = encodeURIComponent(`repository:${path}:push`);
    for (const sent of [
      `grant_type=password&username=x&password=${push.token}`,
      `grant_type=refresh_token&refresh_token=${push.token}`,
    ]) {
      const answer = await post(
        `${sent}&client_id=containerd-client&service=registry.platform.example&scope=${scope}`,
      );
      expect(answer.statusCode).toBe(200);
      expect(accessOf(answer.json())).toEqual(all('push'));
    }
  });

  test('is not issued for another service, which returns 400', async () => {
    const answer = await post(`grant_type=password&password=${push.token}&service=other`);
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toMatchObject({ detail: [{ loc: ['body', 'service'] }] });
  });
});

describe('a rejected request for a token', () => {
  test.each([
    ['nothing', undefined],
    ['an API key', () => basic(client.key)],
    ['no Basic', () => `Bearer ${push.token}`],
    ['no colon', () => `Basic ${Buffer.from(push.token).toString('base64')}`],
    ['the user name as token', () => basic('', push.token)],
    ['half of it', () => basic(push.token.slice(0, -10))],
    ['a very long one', () => basic('x'.repeat(5000))],
  ])('returns 401 and asks for Basic authentication: %s', async (_what, authorization) => {
    const answer = await get('', authorization?.());
    expect(answer.statusCode).toBe(401);
    expect(answer.headers['www-authenticate']).toBe('Basic realm="berth"');
    expect(answer.body).not.toContain(push.token);
  });

  test('returns 422 for an unsupported grant and 415 for another content type', async () => {
    expect((await post('password=x')).statusCode).toBe(422);
    expect((await post('grant_type=authorization_code&code=x')).statusCode).toBe(422);
    expect((await post('grant_type=password')).statusCode).toBe(401);
    const json = await post(JSON.stringify({ grant_type: 'password' }), 'application/json');
    expect(json.statusCode).toBe(415);
    expect(json.json()).toEqual({ detail: 'The body must be application/x-www-form-urlencoded.' });
  });

  test('returns 413 for a form that is larger than any client sends', async () => {
    expect((await post(`grant_type=password&account=${'x'.repeat(17 * 1024)}`)).statusCode).toBe(413);
  });

  test('returns 401 when the push token has expired', async () => {
    const start = now;
    now = new Date(start.getTime() + 599_000);
    expect((await get('', basic(push.token))).statusCode).toBe(200);
    now = new Date(start.getTime() + 601_000);
    expect((await get('', basic(push.token))).statusCode).toBe(401);
    now = start;
  });

  test('returns 429 after too many failures from one address, from which a valid token still succeeds', async () => {
    const statuses: number[] = [];
    for (let n = 0; n < 5; n += 1) statuses.push((await get('', undefined, '10.9.9.9')).statusCode);
    expect(statuses).toEqual([401, 401, 401, 429, 429]);
    expect((await get('', basic(push.token), '10.9.9.9')).statusCode).toBe(200);
  });

  test('returns 401 when the deployment is being deleted, which also gets no new push token', async () => {
    const owner = { id, tenantId: client.tenantId, appName: path.split('/')[1] ?? '' };
    const pull = asking.registryAuthority?.credential('pull', owner, null).token ?? '';
    expect((await get('', basic(pull))).statusCode).toBe(200);
    expect((await client.call('DELETE', `/v2/deployments/${id}`)).status).toBe(204);
    for (const token of [pull, push.token]) expect((await get('', basic(token))).statusCode).toBe(401);
    expect((await client.call('POST', `/v2/deployments/${id}/push-token`)).status).toBe(409);
  });
});

test('a deployment that was deleted with keep_workloads can only pull, until a deletion with force', async () => {
  const owner = await api.tenant();
  const made = await create(owner, { source: 'internal_image', source_revision_config: {} });
  const asOwner = { id: made.id, tenantId: owner.tenantId, appName: 'x' };
  const end = new Date(now.getTime() + 3_600_000);
  const tokenOf = (kind: 'pull' | 'push', until: Date | null) =>
    asking.registryAuthority?.credential(kind, asOwner, until).token ?? '';
  const statuses = async () => [
    (await get('', basic(tokenOf('pull', null)))).statusCode,
    (await get('', basic(tokenOf('push', end)))).statusCode,
  ];
  expect(await statuses()).toEqual([200, 200]);
  expect((await owner.call('DELETE', `/v2/deployments/${made.id}?keep_workloads=true`)).status).toBe(204);
  expect(await statuses()).toEqual([200, 401]);
  await api.store.database
    .forTenant(owner.tenantId)
    .transaction((tx) => removeRecord(tx, owner.tenantId, made.id, { kind: 'system' }));
  expect(await statuses()).toEqual([200, 401]);
  await api.store.sql(`UPDATE tombstones SET purged_at = now() - interval '31 days' WHERE id = $1`, [
    made.id,
  ]);
  await sweep(api.store);
  expect(await statuses()).toEqual([200, 401]);
  expect((await owner.call('DELETE', `/v2/deployments/${made.id}?force=true`)).status).toBe(204);
  expect(await statuses()).toEqual([401, 401]);
  const cleanings = await api.store.sql<{ whole: boolean }>(
    'SELECT whole FROM repository_cleanings WHERE deployment_id = $1',
    [made.id],
  );
  expect(cleanings).toEqual([{ whole: true }]);
});

test('a registry that does not use the API has no token endpoint (404) and no push tokens (409)', async () => {
  const other = await startApi({ deps: { registry: 'registry.platform.example' } });
  try {
    const owner = await other.tenant();
    const made = await create(owner, {
      source: 'internal_image',
      source_revision_config: { image_uri: 'registry.platform.example/any/where:1' },
    });
    const answer = await owner.call<{ detail: string }>('POST', `/v2/deployments/${made.id}/push-token`);
    expect(answer.status).toBe(409);
    expect(answer.body.detail).toContain('BERTH_REGISTRY_SIGNING_KEY');
    expect(
      (await other.app.inject({ url: TOKEN_PATH, headers: { authorization: basic('x') } })).statusCode,
    ).toBe(404);
  } finally {
    await other.stop();
  }
});
