/** kubectl and Berth use the same kubeconfigs against a real API server, with the same outcome. */
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { selfSigned } from '../../../../unit/cluster/kube/self-signed.ts';
import { startApiServer, type TestApiServer } from './api-server.ts';
import { AUDIENCE, CLIENT_SECRET, type Issuer, startIssuer } from './issuer.ts';
import { berthSession, outcomeOfBerth, outcomeOfKubectl } from './outcomes.ts';
import { startConnectProxy, startSocksProxy, type TestProxy } from './proxies.ts';

let folder: string;
let issuer: Issuer;
let server: TestApiServer;
let proxies: { open: TestProxy; closed: TestProxy; socks: TestProxy };

beforeAll(async () => {
  folder = mkdtempSync(path.join(realpathSync(tmpdir()), 'berth-kubeconfigs-'));
  issuer = await startIssuer();
  const [open, closed, socks] = await Promise.all([
    startConnectProxy(),
    startConnectProxy('user:password'),
    startSocksProxy(),
  ]);
  proxies = { open, closed, socks };
  server = await startApiServer(path.join(folder, 'server'), issuer);
}, 180_000);

afterAll(async () => {
  await server?.stop();
  await Promise.all(Object.values(proxies ?? {}).map((proxy) => proxy.stop()));
  await issuer?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const base64 = (text: string) => Buffer.from(text).toString('base64');
let folders = 0;

/** A folder of one kubeconfig, for the files that it names. */
function newFolder(): string {
  folders += 1;
  const made = path.join(folder, `config-${folders}`);
  mkdirSync(made);
  return made;
}

function writeFile(at: string, name: string, content: string, mode = 0o600): string {
  const file = path.join(at, name);
  writeFileSync(file, content, { mode });
  chmodSync(file, mode);
  return name;
}

const CONTEXT = { cluster: 'k', user: 'u' };

interface Parts {
  cluster?: object;
  user?: object;
  /** Fields of the file that replace the usual ones. */
  file?: object;
}

function content({ cluster = {}, user = {}, file = {} }: Parts): string {
  const authority = { 'certificate-authority-data': base64(server.caPem) };
  const usual = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'k', cluster: { server: server.url, ...authority, ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'c', context: CONTEXT }],
    'current-context': 'c',
  };
  return JSON.stringify({ ...usual, ...file });
}

/** Writes the kubeconfig of a row. The row may add files to the folder. */
function kubeconfig(parts: Parts | ((at: string) => Parts)): string {
  const at = newFolder();
  const file = path.join(at, 'config');
  writeFileSync(file, content(typeof parts === 'function' ? parts(at) : parts), { mode: 0o600 });
  return file;
}

const V1 = 'client.authentication.k8s.io/v1';

function plugin(at: string, script: string, more: object = {}): { exec: object } {
  const command = `./${writeFile(at, 'plugin', `#!/bin/sh\n${script}\n`, 0o755)}`;
  return { exec: { apiVersion: V1, command, interactiveMode: 'Never', ...more } };
}

const credential = (status: object, apiVersion = V1) =>
  `echo '${JSON.stringify({ apiVersion, kind: 'ExecCredential', status })}'`;

/** Without an authority, so that the row decides how the server is verified. */
const unverified = { 'certificate-authority-data': undefined };

type Row = readonly [name: string, outcome: string, parts: () => Parts | ((at: string) => Parts)];

const ROWS: readonly Row[] = [
  ['a token', 'user token-user', () => ({ user: { token: server.token } })],
  ['a wrong token', 'unauthorized', () => ({ user: { token: 'wrong' } })],
  [
    'a token file with a relative path',
    'user token-user',
    () => (at) => ({ user: { tokenFile: writeFile(at, 'token', `${server.token}\n`) } }),
  ],
  [
    'a token and a token file',
    'user token-user',
    () => (at) => ({ user: { token: 'wrong', tokenFile: writeFile(at, 'token', server.token) } }),
  ],
  ['a missing token file', 'configuration', () => ({ user: { tokenFile: 'missing' } })],
  [
    'the data of a client certificate',
    'user certificate-user',
    () => {
      const { cert, key } = server.certificateOf('certificate-user');
      return { user: { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) } };
    },
  ],
  [
    'the files of a client certificate with relative paths',
    'user file-user',
    () => (at) => {
      const { cert, key } = server.certificateOf('file-user');
      const files = {
        'client-certificate': writeFile(at, 'crt', cert),
        'client-key': writeFile(at, 'key', key),
      };
      return { user: files };
    },
  ],
  [
    'a client certificate of another authority',
    'unauthorized',
    () => {
      const { cert, key } = selfSigned();
      return { user: { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) } };
    },
  ],
  [
    'a client certificate without a key',
    'configuration',
    () => ({ user: { 'client-certificate-data': base64(selfSigned().cert) } }),
  ],
  [
    'a missing client certificate',
    'configuration',
    () => ({ user: { 'client-certificate': 'x', 'client-key': 'y' } }),
  ],
  // API servers support no passwords, so the user is anonymous.
  ['a password', 'forbidden', () => ({ user: { username: 'u', password: 'p' } })],
  [
    'a token and a password',
    'configuration',
    () => ({ user: { token: server.token, username: 'u', password: 'p' } }),
  ],
  [
    'impersonation without the right to it',
    'forbidden',
    () => ({ user: { token: server.token, as: 'someone', 'as-groups': ['system:authenticated'] } }),
  ],
  [
    'groups to impersonate without a user',
    'configuration',
    () => ({ user: { token: server.token, 'as-groups': ['g'] } }),
  ],

  [
    'a plugin that prints a token',
    'user token-user',
    () => (at) => ({ user: plugin(at, credential({ token: server.token })) }),
  ],
  [
    'a plugin of v1beta1 without a mode',
    'user token-user',
    () => (at) => {
      const apiVersion = 'client.authentication.k8s.io/v1beta1';
      const script = credential({ token: server.token }, apiVersion);
      return { user: plugin(at, script, { apiVersion, interactiveMode: undefined }) };
    },
  ],
  [
    'a plugin that prints a certificate',
    'user plugin-user',
    () => (at) => {
      const { cert, key } = server.certificateOf('plugin-user');
      const status = JSON.stringify({ clientCertificateData: cert, clientKeyData: key });
      writeFile(at, 'output', `{"apiVersion":"${V1}","kind":"ExecCredential","status":${status}}`);
      return { user: plugin(at, 'cat "$(dirname "$0")/output"') };
    },
  ],
  [
    'a plugin with arguments and variables, that needs the cluster',
    'user token-user',
    () => (at) => {
      const script = `
        [ "$1 $NAME" = 'get value' ] || exit 1
        case "$KUBERNETES_EXEC_INFO" in *'"server":"${server.url}"'*) ;; *) exit 1 ;; esac
        ${credential({ token: server.token })}`;
      const env = [{ name: 'NAME', value: 'value' }];
      return { user: plugin(at, script, { args: ['get'], env, provideClusterInfo: true }) };
    },
  ],
  ['a plugin that fails', 'credentials', () => (at) => ({ user: plugin(at, 'exit 1') })],
  ['a plugin that prints no JSON', 'credentials', () => (at) => ({ user: plugin(at, 'echo no') })],
  ['a plugin that prints no credential', 'credentials', () => (at) => ({ user: plugin(at, credential({})) })],
  [
    'a plugin that prompts although it must not',
    'credentials',
    () => (at) => ({ user: plugin(at, `read -r answer || exit 1; ${credential({ token: server.token })}`) }),
  ],
  [
    'a plugin that prompts if it can',
    'user token-user',
    () => (at) => {
      const script = `read -r answer; [ -z "$answer" ] && ${credential({ token: server.token })}`;
      return { user: plugin(at, script, { interactiveMode: 'IfAvailable' }) };
    },
  ],
  [
    'a plugin that must prompt, without a terminal',
    'credentials',
    () => (at) => ({ user: plugin(at, credential({ token: server.token }), { interactiveMode: 'Always' }) }),
  ],
  [
    'a missing plugin',
    'credentials',
    () => ({ user: { exec: { apiVersion: V1, command: 'berth-no-such', interactiveMode: 'Never' } } }),
  ],
  [
    'a plugin of v1 without a mode',
    'configuration',
    () => (at) => ({ user: plugin(at, credential({ token: server.token }), { interactiveMode: undefined }) }),
  ],
  [
    'a plugin of a version that was removed',
    'configuration',
    () => (at) => ({ user: plugin(at, 'exit 1', { apiVersion: 'client.authentication.k8s.io/v1alpha1' }) }),
  ],
  [
    'an auth-provider that was removed',
    'configuration',
    () => ({ user: { 'auth-provider': { name: 'gcp' } } }),
  ],

  [
    'a proxy',
    'user token-user',
    () => ({ cluster: { 'proxy-url': proxies.open.url }, user: { token: server.token } }),
  ],
  [
    'a proxy with a password',
    'user token-user',
    () => ({ cluster: { 'proxy-url': proxies.closed.url }, user: { token: server.token } }),
  ],
  [
    'a proxy that rejects the password',
    'network',
    () => ({
      cluster: { 'proxy-url': proxies.closed.url.replace('password', 'x') },
      user: { token: server.token },
    }),
  ],
  [
    'a SOCKS proxy',
    'user token-user',
    () => ({ cluster: { 'proxy-url': proxies.socks.url }, user: { token: server.token } }),
  ],
  [
    'a proxy and a client certificate',
    'user certificate-user',
    () => {
      const { cert, key } = server.certificateOf('certificate-user');
      const user = { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) };
      return { cluster: { 'proxy-url': proxies.open.url }, user };
    },
  ],
  [
    'a proxy that does not listen',
    'network',
    () => ({ cluster: { 'proxy-url': 'http://127.0.0.1:1' }, user: { token: server.token } }),
  ],
  [
    'a proxy of an unknown kind',
    'configuration',
    () => ({ cluster: { 'proxy-url': 'ftp://127.0.0.1' }, user: { token: server.token } }),
  ],

  ['no authority', 'tls', () => ({ cluster: unverified, user: { token: server.token } })],
  [
    'a wrong authority',
    'tls',
    () => ({
      cluster: { 'certificate-authority-data': base64(selfSigned().cert) },
      user: { token: server.token },
    }),
  ],
  [
    'an authority file with a relative path',
    'user token-user',
    () => (at) => ({
      cluster: { ...unverified, 'certificate-authority': writeFile(at, 'ca.crt', server.caPem) },
      user: { token: server.token },
    }),
  ],
  [
    'a missing authority file',
    'configuration',
    () => ({ cluster: { ...unverified, 'certificate-authority': 'missing' }, user: { token: server.token } }),
  ],
  [
    'an authority that is given twice',
    'configuration',
    () => (at) => ({
      cluster: { 'certificate-authority': writeFile(at, 'ca.crt', server.caPem) },
      user: { token: server.token },
    }),
  ],
  [
    'insecure-skip-tls-verify',
    'user token-user',
    () => ({ cluster: { ...unverified, 'insecure-skip-tls-verify': true }, user: { token: server.token } }),
  ],
  [
    'insecure-skip-tls-verify with an authority',
    'configuration',
    () => ({ cluster: { 'insecure-skip-tls-verify': true }, user: { token: server.token } }),
  ],
  [
    'tls-server-name',
    'user token-user',
    () => ({ cluster: { 'tls-server-name': 'kubernetes.default' }, user: { token: server.token } }),
  ],
  [
    'another tls-server-name',
    'tls',
    () => ({ cluster: { 'tls-server-name': 'other.example' }, user: { token: server.token } }),
  ],

  [
    'a missing context',
    'configuration',
    () => ({ user: { token: server.token }, file: { 'current-context': 'x' } }),
  ],
  [
    'a server that does not listen',
    'network',
    () => ({ cluster: { server: 'https://127.0.0.1:1' }, user: { token: 't' } }),
  ],
];

test.each(ROWS)('%s: %s', async (_name, expected, parts) => {
  const file = kubeconfig(parts());
  const [kubectl, berth] = await Promise.all([
    outcomeOfKubectl(file, path.join(folder, 'cache')),
    outcomeOfBerth(file),
  ]);
  expect({ kubectl, berth }).toEqual({ kubectl: expected, berth: expected });
});

async function expectBoth(files: string, expected: string): Promise<void> {
  const kubectl = await outcomeOfKubectl(files, path.join(folder, 'cache'));
  expect({ kubectl, berth: await outcomeOfBerth(files) }).toEqual({ kubectl: expected, berth: expected });
}

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
    const empty = path.join(newFolder(), 'config');
    writeFileSync(empty, '');
    await expectBoth(['/does/not/exist', empty, present].join(':'), 'user token-user');
  });

  test('fail if one of them is not YAML', async () => {
    const broken = path.join(newFolder(), 'config');
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
  expect(await outcomeOfKubectl(file, path.join(folder, 'cache'))).toBe(kubectl);
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
    const session = await berthSession(forBerth);
    if (typeof session === 'string') throw new Error(session);
    for (const expected of ['unauthorized', 'user token-user', 'user token-user']) {
      const kubectl = await outcomeOfKubectl(forKubectl, path.join(folder, 'cache'));
      expect({ kubectl, berth: await session.outcome() }).toEqual({ kubectl: expected, berth: expected });
    }
    expect(runsOf(forBerth)).toBe(2);
    await session.close();
  });

  test('runs again when its token has expired', async () => {
    const expires = `',"expirationTimestamp":"'$(date -u -d '+3 seconds' +%Y-%m-%dT%H:%M:%SZ)'"'`;
    const file = kubeconfig((at) => ({ user: pluginOf(at, [server.token], expires) }));
    const session = await berthSession(file);
    if (typeof session === 'string') throw new Error(session);
    expect(await session.outcome()).toBe('user token-user');
    expect(runsOf(file)).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 3_500));
    expect(await session.outcome()).toBe('user token-user');
    expect(runsOf(file)).toBe(2);
    await session.close();
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
      for (const outcome of [outcomeOfKubectl, outcomeOfBerth]) {
        const before = issuer.refreshes();
        const expired = { 'id-token': await issuer.idToken('oidc-user', '-1h') };
        const refreshToken = issuer.refreshToken('oidc-user');
        const file = kubeconfig({ user: settings({ ...expired, 'refresh-token': refreshToken }) });
        expect(await outcome(file, path.join(folder, 'cache'))).toBe('user oidc-user');
        // The refresh token is valid once. The second call uses what the first one stored.
        expect(await outcome(file, path.join(folder, 'cache'))).toBe('user oidc-user');
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
    for (const outcome of [outcomeOfKubectl, outcomeOfBerth]) {
      const file = kubeconfig({ user: settings({ 'refresh-token': issuer.refreshToken('oidc-user') }) });
      expect(await outcome(file, path.join(folder, 'cache'))).toBe('user oidc-user');
    }
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
  expect(proxies.open.tunnels()).toBeGreaterThanOrEqual(4);
  expect(proxies.closed.tunnels()).toBeGreaterThanOrEqual(2);
  expect(proxies.socks.tunnels()).toBeGreaterThanOrEqual(2);
});
