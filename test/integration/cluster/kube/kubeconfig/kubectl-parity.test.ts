/** kubectl and Berth use the same kubeconfigs against a real API server, with the same outcome. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { TestApiServer } from './api-server.ts';
import { CLUSTER_ROWS } from './cluster-rows.ts';
import { AUDIENCE, CLIENT_SECRET, type Issuer } from './issuer.ts';
import { type BerthSession, berthSession, outcomeOfBerth, outcomeOfKubectl } from './outcomes.ts';
import { PLUGIN_ROWS } from './plugin-rows.ts';
import { USER_ROWS } from './user-rows.ts';
import { base64, type Parts, plugin, startWorld, V1, type World, writeFile } from './world.ts';

let world: World;
let server: TestApiServer;
let issuer: Issuer;

beforeAll(async () => {
  world = await startWorld();
  ({ server, issuer } = world);
}, 180_000);
afterAll(() => world?.stop());

const kubeconfig: World['kubeconfig'] = (parts) => world.kubeconfig(parts);
const kubectlOutcome = (files: string) => outcomeOfKubectl(files, path.join(world.folder, 'cache'));

async function expectBoth(files: string, expected: string): Promise<void> {
  const [kubectl, berth] = await Promise.all([kubectlOutcome(files), outcomeOfBerth(files)]);
  expect({ kubectl, berth }).toEqual({ kubectl: expected, berth: expected });
}

async function session(file: string): Promise<BerthSession> {
  const opened = await berthSession(file);
  if (typeof opened === 'string') throw new Error(opened);
  return opened;
}

test.each([...USER_ROWS, ...PLUGIN_ROWS, ...CLUSTER_ROWS])('%s: %s', async (_name, expected, parts) => {
  await expectBoth(kubeconfig(parts(world)), expected);
});

describe('several files', () => {
  const contextsOnly = { clusters: [], users: [] };

  test('are merged, and the first one that defines a name wins', async () => {
    const first = kubeconfig({ file: contextsOnly });
    const second = kubeconfig({
      user: { token: server.token },
      file: { contexts: [], 'current-context': 'x' },
    });
    const third = kubeconfig({ user: { token: 'wrong' }, cluster: { server: 'https://127.0.0.1:1' } });
    await expectBoth([first, second, third].join(':'), 'user token-user');
    await expectBoth([third, second, first].join(':'), 'network');
  });

  test('may be missing or empty, except all of them', async () => {
    const present = kubeconfig({ user: { token: server.token } });
    const empty = path.join(world.newFolder(), 'config');
    writeFileSync(empty, '');
    await expectBoth(['/does/not/exist', empty, present].join(':'), 'user token-user');
  });

  test('fail if one of them is not YAML', async () => {
    const broken = path.join(world.newFolder(), 'config');
    writeFileSync(broken, 'users: {');
    await expectBoth([kubeconfig({ user: { token: server.token } }), broken].join(':'), 'configuration');
  });

  test('keep their relative paths', async () => {
    const credentials = kubeconfig((at) => ({ user: { tokenFile: writeFile(at, 'token', server.token) } }));
    const context = kubeconfig({ file: contextsOnly });
    await expectBoth([context, credentials].join(':'), 'user token-user');
  });
});

test.each<[string, string, Parts]>([
  ['an unset current-context', 'network', { user: { token: 't' }, file: { 'current-context': '' } }],
  ['an unknown cluster', 'network', { user: { token: 't' }, file: { clusters: [] } }],
  ['an unknown user', 'prompt', { file: { users: [] } }],
])('%s is a problem of the configuration, where kubectl uses defaults: %s', async (_name, kubectl, parts) => {
  const file = kubeconfig(parts);
  expect(await kubectlOutcome(file)).toBe(kubectl);
  expect(await outcomeOfBerth(file)).toBe('configuration');
});

describe('an exec plugin', () => {
  /** Prints the lines of the file `tokens` in turn, then the last one again and again. */
  function pluginOf(at: string, tokens: readonly string[], expires = ''): { exec: object } {
    writeFile(at, 'tokens', `${tokens.join('\n')}\n`);
    return plugin(
      at,
      `cd "$(dirname "$0")"
      echo run >> runs
      token=$(sed -n "$(wc -l < runs)p" tokens)
      expires=${expires || "''"}
      echo '{"apiVersion":"${V1}","kind":"ExecCredential","status":{"token":"'"\${token:-$(tail -1 tokens)}"'"'"$expires"'}}'`,
    );
  }
  const runsOf = (file: string) =>
    readFileSync(path.join(path.dirname(file), 'runs'), 'utf8').split('\n').length - 1;

  test('runs again after the server rejected its token', async () => {
    const parts = (at: string) => ({ user: pluginOf(at, ['stale', server.token]) });
    const [forKubectl, forBerth] = [kubeconfig(parts), kubeconfig(parts)];
    const berth = await session(forBerth);
    for (const expected of ['unauthorized', 'user token-user', 'user token-user']) {
      const kubectl = await kubectlOutcome(forKubectl);
      expect({ kubectl, berth: await berth.outcome() }).toEqual({ kubectl: expected, berth: expected });
    }
    expect(runsOf(forBerth)).toBe(2);
    await berth.close();
  });

  test('runs again when its token has expired', async () => {
    const expires = `',"expirationTimestamp":"'$(date -u -d '+10 seconds' +%Y-%m-%dT%H:%M:%SZ)'"'`;
    const file = kubeconfig((at) => ({ user: pluginOf(at, [server.token], expires) }));
    const berth = await session(file);
    expect(await berth.outcome()).toBe('user token-user');
    expect(runsOf(file)).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 10_500));
    expect(await berth.outcome()).toBe('user token-user');
    expect(runsOf(file)).toBe(2);
    await berth.close();
  });
});

describe('the auth-provider oidc', () => {
  const settings = (more: Record<string, string | undefined>) => ({
    'auth-provider': {
      name: 'oidc',
      config: {
        'idp-issuer-url': issuer.url,
        'idp-certificate-authority-data': base64(issuer.caPem),
        'client-id': AUDIENCE,
        'client-secret': CLIENT_SECRET,
        ...more,
      },
    },
  });

  test('sends a token that is valid', async () => {
    const token = await issuer.idToken('oidc-user', '1h');
    await expectBoth(kubeconfig({ user: settings({ 'id-token': token }) }), 'user oidc-user');
  });

  test.each([['header'], ['body']] as const)(
    'refreshes an expired token with the secret in the %s, and stores both tokens',
    async (place) => {
      issuer.acceptSecretIn(place);
      for (const outcome of [kubectlOutcome, outcomeOfBerth]) {
        const before = issuer.refreshes();
        const expired = { 'id-token': await issuer.idToken('oidc-user', '-1h') };
        const refreshToken = issuer.refreshToken('oidc-user');
        const file = kubeconfig({ user: settings({ ...expired, 'refresh-token': refreshToken }) });
        expect(await outcome(file)).toBe('user oidc-user');
        // The refresh token is valid once. The second call uses what the first one stored.
        expect(await outcome(file)).toBe('user oidc-user');
        expect(issuer.refreshes()).toBe(before + 1);
        const stored = parse(readFileSync(file, 'utf8')).users[0].user['auth-provider'].config;
        expect(stored['id-token']).not.toBe(expired['id-token']);
        expect(stored['refresh-token']).not.toBe(refreshToken);
        expect(stored['client-secret']).toBe(CLIENT_SECRET);
      }
    },
  );

  test('refreshes without an ID token', async () => {
    issuer.acceptSecretIn('header');
    for (const outcome of [kubectlOutcome, outcomeOfBerth]) {
      const file = kubeconfig({ user: settings({ 'refresh-token': issuer.refreshToken('oidc-user') }) });
      expect(await outcome(file)).toBe('user oidc-user');
    }
  });

  test('keeps tokens that it cannot store', async () => {
    const file = kubeconfig({ user: settings({ 'refresh-token': issuer.refreshToken('oidc-user') }) });
    const berth = await session(file);
    rmSync(path.dirname(file), { recursive: true });
    const before = issuer.refreshes();
    expect(await berth.outcome()).toBe('user oidc-user');
    expect(await berth.outcome()).toBe('user oidc-user');
    expect(issuer.refreshes()).toBe(before + 1);
    await berth.close();
  });

  test('uses the tokens that another process stored', async () => {
    issuer.acceptSecretIn('header');
    const file = kubeconfig({ user: settings({ 'refresh-token': issuer.refreshToken('oidc-user') }) });
    const berth = await session(file);
    const before = issuer.refreshes();
    expect(await kubectlOutcome(file)).toBe('user oidc-user');
    expect(await berth.outcome()).toBe('user oidc-user');
    expect(issuer.refreshes()).toBe(before + 1);
    await berth.close();
  });

  test('fails when the token has expired and cannot be refreshed', async () => {
    const expired = await issuer.idToken('oidc-user', '-1h');
    await expectBoth(kubeconfig({ user: settings({ 'id-token': expired }) }), 'credentials');
    const rejected = settings({ 'id-token': expired, 'refresh-token': 'unknown' });
    await expectBoth(kubeconfig({ user: rejected }), 'credentials');
    const unknown = settings({
      'refresh-token': 'unknown',
      'idp-certificate-authority-data': base64(server.caPem),
    });
    await expectBoth(kubeconfig({ user: unknown }), 'credentials');
  });
});

test('connections to the server go through the proxies', () => {
  expect(world.proxies.open.tunnels()).toBeGreaterThanOrEqual(4);
  expect(world.proxies.closed.tunnels()).toBeGreaterThanOrEqual(2);
  expect(world.proxies.socks.tunnels()).toBeGreaterThanOrEqual(2);
});
