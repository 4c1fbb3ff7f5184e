import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { changeContexts, readContexts, withContext } from '../../../../../src/cli/client/contexts/store.ts';
import { command, type FakeAnswer, fakeApi } from '../fake-api.ts';

/** Logs out of an API that answers the revocation. */
async function logoutWith(answer: FakeAnswer) {
  const configHome = mkdtempSync(join(tmpdir(), 'berth-logout-'));
  onTestFinished(() => rmSync(configHome, { recursive: true, force: true }));
  const { url, calls } = await fakeApi(() => answer);
  const token = { url, access_token: 'canary-token', expires_at: '2099-01-01T00:00:00Z' };
  changeContexts(configHome, (contexts) => withContext(contexts, 'team', token));
  const { code, err } = await command(['logout'], { configHome, apiKey: undefined });
  expect(calls.map(({ line }) => line)).toEqual(['DELETE /v2/auth/token']);
  expect(err).not.toContain('canary');
  return { code, err, isKept: 'team' in readContexts(configHome).contexts };
}

test.each<[string, FakeAnswer, string]>([
  ['the API revokes the token', [204, undefined], 'its token is revoked'],
  [
    'the token is no longer valid',
    [401, { detail: 'The access token is not valid.' }],
    'its token is revoked',
  ],
  ['the API does not revoke the token', [403, { detail: 'You have no role.' }], 'did not revoke its token'],
])('removes the context when %s', async (_when, answer, message) => {
  expect(await logoutWith(answer)).toEqual({ code: 0, err: expect.stringContaining(message), isKept: false });
});

test('keeps the context when the API fails', async () => {
  expect(await logoutWith([500, { detail: 'The server failed.' }])).toMatchObject({ code: 3, isKept: true });
});
