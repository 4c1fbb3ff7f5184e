/** Verification of tokens of workloads, with real keys and signatures. */
import { exportJWK, exportSPKI, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import { beforeAll, expect, test } from 'vitest';
import { type WorkloadIssuer, workloadIssuersSchema } from '../../../../src/domain/access/workload-policy.ts';
import { KEY_TIMES, type ReadKeys } from '../../../../src/hub/workload-identity/key-source.ts';
import { createWorkloadVerifier } from '../../../../src/hub/workload-identity/verifier.ts';

const AUDIENCE = 'https://berth.example.com';
const ISSUER = 'https://ci.example.com';
const NOW = new Date('2026-11-30T12:00:00Z');
const SECONDS = Math.floor(NOW.getTime() / 1000);

type Key = Awaited<ReturnType<typeof makeKey>>;

async function makeKey(kid: string, alg = 'RS256') {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), kid } };
}

let one: Key;
let two: Key;
beforeAll(async () => {
  [one, two] = await Promise.all([makeKey('one'), makeKey('two')]);
});

const claims = (more: JWTPayload = {}): JWTPayload => ({
  iss: ISSUER,
  aud: AUDIENCE,
  sub: 'project:shop',
  iat: SECONDS - 10,
  exp: SECONDS + 300,
  ...more,
});
const sign = ({ kid, alg, privateKey }: Key, payload: JWTPayload = claims()) =>
  new SignJWT(payload).setProtectedHeader({ alg, kid }).sign(privateKey);

function issuer(more: object = {}): WorkloadIssuer {
  const rules = [{ name: 'r', claims: { sub: 'project:shop' }, tenant: 'shop', roles: ['deployer'] }];
  const [parsed] = workloadIssuersSchema.parse([
    { name: 'ci', issuer: ISSUER, jwks: { keys: [one.jwk] }, rules, ...more },
  ]);
  if (parsed === undefined) throw new Error('failed to parse the issuer');
  return parsed;
}
const remote = (more: object = {}) =>
  issuer({ jwks: undefined, jwks_url: 'https://ci.example.com/keys', ...more });

const unread: ReadKeys = async () => {
  throw new Error('failed to read keys: this issuer has inline keys');
};
const verify = (token: string, ...issuers: WorkloadIssuer[]) =>
  createWorkloadVerifier(AUDIENCE, unread).verify(token, issuers, NOW);
const resultOf = async (token: string, ...issuers: WorkloadIssuer[]) => {
  const verified = await verify(token, ...issuers);
  return verified.kind === 'rejected' ? verified.reason : verified.kind;
};

test('verifies a token of a configured issuer', async () => {
  expect(await verify(await sign(one), issuer())).toMatchObject({
    kind: 'verified',
    issuer: { name: 'ci' },
    subject: 'project:shop',
  });
  expect(await resultOf(await sign(one, claims({ aud: ['x', AUDIENCE] })), issuer())).toBe('verified');
});

test.each<[string, JWTPayload, string]>([
  ['has another audience', { aud: 'https://other.example.com' }, 'audience'],
  ['has an audience that only begins alike', { aud: `${AUDIENCE}.evil.example` }, 'audience'],
  ['has no audience', { aud: undefined }, 'audience'],
  ['has another issuer', { iss: 'https://evil.example' }, 'unknown_issuer'],
  ['has no subject', { sub: undefined }, 'claims'],
  ['has an empty subject', { sub: '' }, 'claims'],
  ['never expires', { exp: undefined }, 'claims'],
  ['has no time of issue', { iat: undefined }, 'claims'],
  ['has expired more than a minute ago', { exp: SECONDS - 61 }, 'expired'],
  ['has expired within the clock skew', { exp: SECONDS - 59 }, 'verified'],
  ['is valid in more than a minute', { nbf: SECONDS + 61 }, 'not_yet_valid'],
  ['is valid within the clock skew', { nbf: SECONDS + 59 }, 'verified'],
  ['was issued in the future', { iat: SECONDS + 61 }, 'not_yet_valid'],
  ['is older than a day', { iat: SECONDS - 90_000, exp: SECONDS + 90_000 }, 'expired'],
])('decides about a token that %s', async (_what, more, expected) => {
  const payload = claims(more);
  for (const [name, value] of Object.entries(more)) if (value === undefined) delete payload[name];
  expect(await resultOf(await sign(one, payload), issuer())).toBe(expected);
});

test('rejects algorithm confusion', async () => {
  // A verifier that takes the algorithm from the token would use the public key as an HMAC secret.
  const secret = new TextEncoder().encode(await exportSPKI(one.publicKey));
  const confused = await new SignJWT(claims()).setProtectedHeader({ alg: 'HS256', kid: 'one' }).sign(secret);
  expect(await resultOf(confused, issuer())).toBe('algorithm');
  expect(await resultOf(new UnsecuredJWT(claims()).encode(), issuer())).toMatch(/algorithm|malformed/);
  const [header, payload] = (await sign(one)).split('.');
  const none = Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url');
  expect(await resultOf(`${none}.${payload}.`, issuer())).toBe('algorithm');
  expect(await resultOf(`${header}.${payload}.`, issuer())).toMatch(/signature|malformed/);
  // A published key with an algorithm that is not configured.
  const key = await makeKey('ec', 'ES256');
  expect(await resultOf(await sign(key), issuer({ jwks: { keys: [one.jwk, key.jwk] } }))).toBe('algorithm');
});

test.each([
  ['no token', 'x'],
  ['an empty text', ''],
  ['a long text', 'x'.repeat(20_000)],
  ['three parts', 'a.b.c'],
])('rejects %s', async (_what, token) => {
  expect(await resultOf(token, issuer())).toBe('malformed');
});

test('rejects a changed payload and the key of someone else', async () => {
  const [header, , signature] = (await sign(one)).split('.');
  const payload = Buffer.from(JSON.stringify(claims({ sub: 'project:other' }))).toString('base64url');
  expect(await resultOf(`${header}.${payload}.${signature}`, issuer())).toBe('signature');
  expect(await resultOf(await sign({ ...two, kid: 'one' }), issuer())).toBe('signature');
  expect(await resultOf(await sign(two), issuer())).toBe('unknown_key');
});

test('finds the issuer by its key when two have the same claim iss', async () => {
  const other = issuer({ name: 'other', jwks: { keys: [two.jwk] } });
  expect(await verify(await sign(two), issuer(), other)).toMatchObject({ issuer: { name: 'other' } });
  expect(await verify(await sign(one), issuer(), other)).toMatchObject({ issuer: { name: 'ci' } });
});

/** An issuer whose keys can change, and which may not respond. */
function published() {
  const state = { keys: [one.jwk] as object[], isDown: false, reads: 0 };
  const read: ReadKeys = async () => {
    state.reads += 1;
    if (state.isDown) throw new Error('failed to call the host: unreachable (ECONNREFUSED)');
    return Buffer.from(JSON.stringify({ keys: state.keys }));
  };
  return { state, read };
}

test('reads keys once, and again for a new key', async () => {
  const { state, read } = published();
  const verifier = createWorkloadVerifier(AUDIENCE, read, { ...KEY_TIMES, unknownKey: 0 });
  const check = async (key: Key) => (await verifier.verify(await sign(key), [remote()], NOW)).kind;
  expect([await check(one), await check(one), state.reads]).toEqual(['verified', 'verified', 1]);
  state.keys = [two.jwk];
  expect([await check(two), state.reads]).toEqual(['verified', 2]);
  expect(await check(one)).toBe('rejected');
});

test('does not call the issuer for each forged token', async () => {
  const { state, read } = published();
  const verifier = createWorkloadVerifier(AUDIENCE, read);
  await verifier.verify(await sign(one), [remote()], NOW);
  const forged = await sign({ ...two, kid: 'unknown' });
  for (let count = 0; count < 5; count += 1)
    expect(await verifier.verify(forged, [remote()], NOW)).toEqual({
      kind: 'rejected',
      reason: 'unknown_key',
    });
  expect(state.reads).toBe(1);
});

test('stops to trust a removed key when the keys are read again', async () => {
  const { state, read } = published();
  const verifier = createWorkloadVerifier(AUDIENCE, read, { ...KEY_TIMES, refresh: 0 });
  const check = async () => (await verifier.verify(await sign(one), [remote()], NOW)).kind;
  expect(await check()).toBe('verified');
  state.keys = [two.jwk];
  expect(await check()).toBe('rejected');
});

test('keeps known keys for a while when the issuer is down, and then reports it as unavailable', async () => {
  const { state, read } = published();
  const verifier = createWorkloadVerifier(AUDIENCE, read, { ...KEY_TIMES, refresh: 0, retry: 0 });
  const check = async () => (await verifier.verify(await sign(one), [remote()], NOW)).kind;
  state.isDown = true;
  expect(await check()).toBe('unavailable');
  state.isDown = false;
  expect(await check()).toBe('verified');
  state.isDown = true;
  expect(await check()).toBe('verified');
  const old = createWorkloadVerifier(AUDIENCE, read, { ...KEY_TIMES, maxAge: 0, retry: 0 });
  expect(await old.verify(await sign(one), [remote()], NOW)).toMatchObject({ kind: 'unavailable' });
});

test('waits after a failed read', async () => {
  const { state, read } = published();
  const verifier = createWorkloadVerifier(AUDIENCE, read);
  state.isDown = true;
  for (let count = 0; count < 3; count += 1)
    expect(await verifier.verify(await sign(one), [remote()], NOW)).toMatchObject({ kind: 'unavailable' });
  expect(state.reads).toBe(1);
});

test('reports keys that are no key set as unavailable', async () => {
  const answers = ['<html>', '{"keys": 1}', '[]'];
  for (const body of answers) {
    const verifier = createWorkloadVerifier(AUDIENCE, async () => Buffer.from(body));
    expect(await verifier.verify(await sign(one), [remote()], NOW)).toMatchObject({ kind: 'unavailable' });
  }
});

test('uses the keys of another issuer with the same claim iss when one is unavailable', async () => {
  const verifier = createWorkloadVerifier(AUDIENCE, unread);
  const issuers = [remote({ name: 'down' }), issuer()];
  expect(await verifier.verify(await sign(one), issuers, NOW)).toMatchObject({ issuer: { name: 'ci' } });
  // The unavailable issuer may have signed it.
  expect(await verifier.verify(await sign(two), issuers, NOW)).toMatchObject({ kind: 'unavailable' });
});
