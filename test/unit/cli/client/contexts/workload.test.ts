import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { accessTokenOf } from '../../../../../src/cli/client/contexts/workload.ts';
import { type Call, fakeApi } from '../fake-api.ts';

const { signal } = new AbortController();

/** A server that issues token-1, token-2, … */
async function issuer(seconds: number) {
  const state = { issued: 0, rejects: false };
  const answer = (_call: Call) => {
    if (state.rejects)
      return [
        400,
        { detail: [{ loc: ['body', 'subject_token'], msg: 'has expired', type: 'expired' }] },
      ] as const;
    state.issued += 1;
    return [200, { access_token: `token-${state.issued}`, expires_in: seconds }] as const;
  };
  return { state, ...(await fakeApi(answer)) };
}

test('exchanges the token once for requests at the same time and after each other', async () => {
  const { url, calls } = await issuer(900);
  const token = accessTokenOf({ url, idToken: { value: ' jwt\n' }, tenantId: null, signal });
  expect(await Promise.all([token(), token()])).toEqual(['token-1', 'token-1']);
  expect(await token()).toBe('token-1');
  expect(calls.map(({ line, body }) => [line, body])).toEqual([
    [
      'POST /v2/auth/token',
      { grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange', subject_token: 'jwt' },
    ],
  ]);
});

test('reads the file again when the token expires soon, and keeps the former token when that fails', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-id-token-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'token');
  writeFileSync(file, 'first');
  const { url, calls, state } = await issuer(30);
  const token = accessTokenOf({ url, idToken: { file }, tenantId: 'tenant', signal });
  expect(await token()).toBe('token-1');
  writeFileSync(file, 'second\n');
  expect(await token()).toBe('token-2');
  expect(calls.map(({ body }) => body)).toMatchObject([
    { subject_token: 'first', tenant_id: 'tenant' },
    { subject_token: 'second' },
  ]);
  state.rejects = true;
  expect(await token()).toBe('token-2');
});

test('names the variable and the reason when the API rejects the token', async () => {
  const { url, state } = await issuer(900);
  state.rejects = true;
  const token = accessTokenOf({ url, idToken: { value: 'canary-token' }, tenantId: null, signal });
  await expect(token()).rejects.toThrow(
    '400: the API rejected the token of the pipeline (BERTH_ID_TOKEN): it has expired',
  );
  await expect(token()).rejects.not.toThrow('canary');
});

test('reports a file that cannot be read or has no token', async () => {
  const token = (file: string) =>
    accessTokenOf({ url: 'http://127.0.0.1:1', idToken: { file }, tenantId: null, signal })();
  await expect(token('/nowhere/token')).rejects.toThrow(
    'failed to read the file of BERTH_ID_TOKEN_FILE (ENOENT)',
  );
  await expect(token('/dev/null')).rejects.toThrow('the file of BERTH_ID_TOKEN_FILE contains characters');
});
