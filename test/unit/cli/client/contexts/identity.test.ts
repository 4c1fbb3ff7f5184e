import { expect, test } from 'vitest';
import { command, fakeApi } from '../fake-api.ts';

const key = (prefix: string) => ({ prefix, name: `name of ${prefix}`, scopes: ['admin'], expires_at: null });
const tenantMissing = {
  detail: [{ loc: ['header', 'X-Tenant-Id'], msg: 'is required: the API key belongs to no tenant' }],
};

/** An API whose list has these keys; a status of 403 or 422: the key may not read the list. */
const api = (keys: readonly object[] | 403 | 422, usage = 200) =>
  fakeApi(({ line, query }) => {
    if (line === 'GET /v2/usage') return [usage, usage === 422 ? tenantMissing : { detail: 'no' }];
    if (typeof keys === 'number') return [keys, { detail: 'no' }];
    const [offset, limit] = [Number(query.get('offset')), Number(query.get('limit'))];
    const page = query.get('platform') === 'true' ? [] : keys.slice(offset, offset + limit);
    return [200, { resources: page, offset: offset + page.length }];
  });
const whoami = async (url: string, tenantId?: string) => {
  const { code, out, err } = await command(['whoami', '-o', 'json'], {
    url,
    apiKey: 'sk_mine_5521',
    tenantId,
  });
  return { code, err, answer: out === '' ? null : (JSON.parse(out) as object) };
};

test('accepts a key of the platform without a tenant', async () => {
  const { url } = await api([key('sk_mine')], 422);
  expect(await whoami(url)).toMatchObject({
    code: 0,
    answer: { key_name: 'name of sk_mine', reads_deployments: false },
  });
});

test('reports a tenant that the API rejects', async () => {
  const { url } = await api([], 422);
  expect(await whoami(url, 'nonsense')).toMatchObject({ code: 1, err: expect.stringContaining('422') });
});

test('finds a key after the first page of the list', async () => {
  const { url } = await api([...Array.from({ length: 150 }, (_, index) => key(`k${index}`)), key('sk_mine')]);
  expect(await whoami(url)).toMatchObject({ code: 0, answer: { key_name: 'name of sk_mine' } });
});

test.each([
  [[key('other')], 'not found: the key is not in the lists of keys'],
  [403 as const, 'not shown: only keys with the scope admin can read them'],
])('says why the scopes are unknown when the list is %j', async (keys, reason) => {
  const { url } = await api(keys);
  const { code, out } = await command(['whoami'], { url, apiKey: 'sk_mine_5521' });
  expect(code).toBe(0);
  expect(out).toContain(reason);
  expect(out).not.toContain('5521');
});
