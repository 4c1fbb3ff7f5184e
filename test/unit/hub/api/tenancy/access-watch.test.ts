import { EventEmitter } from 'node:events';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { expect, test, vi } from 'vitest';
import { untilLost } from '../../../../../src/hub/api/core/line-stream.ts';
import { createWorkHints } from '../../../../../src/hub/api/listeners/work-hints.ts';
import { createAccessWatch, keepsRights } from '../../../../../src/hub/api/tenancy/access-watch.ts';
import type { KeyPrincipal } from '../../../../../src/hub/api/tenancy/principal.ts';

const KEY: KeyPrincipal = {
  kind: 'api_key',
  keyId: 'key-1',
  keyName: 'test',
  scopes: ['deployments:read', 'secrets:read'],
  expiresAt: null,
  keyTenantId: 'shop',
};
const CALLER = { principal: KEY, tenantId: 'shop', scopes: KEY.scopes };

/** Watches a caller that is allowed at first. */
async function watch(later: () => Promise<boolean>, checkMs = 60_000, answerMs = 60_000) {
  const accessHints = createWorkHints();
  const raw = Object.assign(new EventEmitter(), { destroyed: false, destroy: vi.fn() });
  const request = { caller: CALLER } as unknown as FastifyRequest;
  const deps = { accessHints } as unknown as Parameters<typeof createAccessWatch>[0];
  const isAllowed = vi.fn(() => later()).mockResolvedValueOnce(true);
  const created = createAccessWatch(deps, isAllowed, { checkMs, answerMs, lastLineMs: 5 });
  const lost = await created.lost(request, { raw } as unknown as FastifyReply);
  return { ...lost, accessHints, raw };
}

test('aborts when a notification names the credential, and closes the connection of a client that does not read', async () => {
  let allowed = true;
  const { signal, end, accessHints, raw } = await watch(async () => allowed);
  allowed = false;
  accessHints.notify(['another']);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(signal.aborted).toBe(false);
  accessHints.notify(['key-1']);
  await vi.waitFor(() => expect(signal.aborted).toBe(true));
  expect(end).toEqual({ end: 'The API key is no longer valid.', reason: 'denied' });
  await vi.waitFor(() => expect(raw.destroy).toHaveBeenCalledOnce());
});

test('aborts without a notification, and survives a check that fails', async () => {
  const isAllowed = vi.fn<() => Promise<boolean>>().mockRejectedValueOnce(new Error('no database'));
  isAllowed.mockResolvedValueOnce(true).mockResolvedValue(false);
  const { signal } = await watch(isAllowed, 5);
  await vi.waitFor(() => expect(signal.aborted).toBe(true));
  expect(isAllowed).toHaveBeenCalledTimes(3);
});

test.each<[string, () => Promise<boolean>]>([
  ['do not respond', () => new Promise(() => undefined)],
  ['fail', () => Promise.reject(new Error('no database'))],
])('aborts when checks %s for too long, and does not state a loss of rights', async (_what, isAllowed) => {
  const { signal } = await watch(isAllowed, 5, 20);
  await vi.waitFor(() => expect(signal.aborted).toBe(true));
  expect(signal.reason).toMatchObject({ reason: 'continue' });
});

test('stops to check when the response is over', async () => {
  const isAllowed = vi.fn(async () => true);
  const { raw } = await watch(isAllowed, 5);
  raw.emit('close');
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(isAllowed.mock.calls.length).toBeLessThan(3);
});

test('rejects a stream whose caller has lost its rights since it was authenticated, and watches nothing', async () => {
  const isAllowed = vi.fn(async () => false);
  const { lost } = createAccessWatch({} as Parameters<typeof createAccessWatch>[0], isAllowed, {
    checkMs: 5,
  });
  const raw = new EventEmitter();
  const rejected = lost({ caller: CALLER } as FastifyRequest, { raw } as unknown as FastifyReply);
  await expect(rejected).rejects.toMatchObject({
    statusCode: 401,
    detail: 'The API key is no longer valid.',
  });
  expect(raw.listenerCount('close')).toBe(0);
});

test('a caller keeps its rights only with all scopes, in the same tenant', () => {
  expect(keepsRights(CALLER, KEY)).toBe(true);
  expect(keepsRights(CALLER, { ...KEY, scopes: ['deployments:read', 'secrets:read', 'admin'] })).toBe(true);
  expect(keepsRights(CALLER, { ...KEY, scopes: ['deployments:read'] })).toBe(false);
  expect(keepsRights(CALLER, { ...KEY, keyTenantId: 'bank' })).toBe(false);
});

test('a caller without roles keeps what it has, and one with roles does not', () => {
  const grants = { isPlatformAdmin: false, tenants: [] };
  const person = { id: 'person-1', name: 'Ada' };
  const token = { kind: 'person_token', tokenId: 't', person, grants, expiresAt: new Date() } as const;
  expect(keepsRights({ principal: token, tenantId: null, scopes: [] }, token)).toBe(true);
  expect(keepsRights({ principal: token, tenantId: 'shop', scopes: ['deployments:read'] }, token)).toBe(
    false,
  );
});

test('a stream drops what is pending when the rights are lost', async () => {
  const lost = new AbortController();
  const end = { end: 'over', reason: 'denied' } as const;
  let isOpen = true;
  async function* source() {
    try {
      yield [{ line: 1 }];
      await new Promise((resolve) => setTimeout(resolve, 20));
      yield [{ line: 2 }];
    } finally {
      isOpen = false;
    }
  }
  const seen: object[] = [];
  setTimeout(() => lost.abort(), 5);
  for await (const batch of untilLost(source(), { signal: lost.signal, end })) seen.push(...batch);
  expect(seen).toEqual([{ line: 1 }, end]);
  await vi.waitFor(() => expect(isOpen).toBe(false));
});
