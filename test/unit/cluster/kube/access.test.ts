import { existsSync } from 'node:fs';
import { chmod, copyFile, readFile, writeFile } from 'node:fs/promises';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { loadClusterAccess } from '../../../../src/cluster/kube/access/cluster-access.ts';
import { kubeconfigAccess } from '../../../../src/cluster/kube/access/kubeconfig/kubeconfig-access.ts';
import { createKubeClient } from '../../../../src/cluster/kube/client/client.ts';
import { untilPasses } from '../../until-passes.ts';
import { selfSigned } from './self-signed.ts';
import { temporaryFolder } from './support.ts';

const CONTEXTS = {
  contexts: [{ name: 'c', context: { cluster: 'k', user: 'u', namespace: 'mine' } }],
  'current-context': 'c',
};

async function kubeconfig(cluster: object, user: object, rest: object = {}): Promise<string> {
  const file = path.join(await temporaryFolder(), 'config');
  const config = { ...CONTEXTS, clusters: [{ name: 'k', cluster }], users: [{ name: 'u', user }], ...rest };
  await writeFile(file, JSON.stringify(config));
  return file;
}

const server = 'https://10.0.0.1:6443/prefix';
const V1 = 'client.authentication.k8s.io/v1';

describe('the loader of kubeconfigs', () => {
  test('provides token, address, namespace and TLS', async () => {
    const file = await kubeconfig(
      {
        server,
        'certificate-authority-data': Buffer.from('CA').toString('base64'),
        'tls-server-name': 'api',
      },
      { token: 't', as: 'someone', 'as-groups': ['g', 'h'] },
    );
    const access = await loadClusterAccess({ kubeconfigPath: file });
    expect(access.server.href).toBe(server);
    expect(access.namespace).toBe('mine');
    expect(await access.headers()).toEqual({
      authorization: 'Bearer t',
      'impersonate-user': 'someone',
      'impersonate-group': ['g', 'h'],
    });
    expect(await access.tls()).toEqual({
      ca: Buffer.from('CA'),
      servername: 'api',
      rejectUnauthorized: true,
    });
  });

  test('reads the referenced files again when they change', async () => {
    const file = await kubeconfig(
      { server, 'certificate-authority': 'ca.crt' },
      { tokenFile: 'token', 'client-certificate': 'cert', 'client-key': 'key' },
    );
    const beside = (name: string) => path.join(path.dirname(file), name);
    for (const name of ['ca.crt', 'token', 'cert', 'key']) await writeFile(beside(name), `${name} 1\n`);
    const access = await loadClusterAccess({ kubeconfigPath: file });
    expect(await access.headers()).toEqual({ authorization: 'Bearer token 1' });
    expect(await access.tls()).toMatchObject({
      ca: Buffer.from('ca.crt 1\n'),
      cert: Buffer.from('cert 1\n'),
      key: Buffer.from('key 1\n'),
    });
    await writeFile(beside('token'), 'token 2');
    await writeFile(beside('ca.crt'), 'ca.crt 2');
    expect(await access.tls()).toMatchObject({ ca: Buffer.from('ca.crt 2') });
    expect(await access.headers()).toEqual({ authorization: 'Bearer token 1' });
    access.invalidate({ authorization: 'Bearer token 1' });
    expect(await access.headers()).toEqual({ authorization: 'Bearer token 2' });
  });

  test('sends every field of an impersonation', async () => {
    const file = await kubeconfig(
      { server },
      { token: 't', as: 'u', 'as-uid': '7', 'as-user-extra': { 'Example.com/Scopes': ['a', 'b'] } },
    );
    const access = await loadClusterAccess({ kubeconfigPath: file });
    expect(await access.headers()).toEqual({
      authorization: 'Bearer t',
      'impersonate-user': 'u',
      'impersonate-uid': '7',
      'impersonate-extra-example.com%2Fscopes': ['a', 'b'],
    });
  });

  test('completes an address without a scheme as kubectl does', async () => {
    const plain = await kubeconfig({ server: 'localhost:8080' }, {});
    expect((await loadClusterAccess({ kubeconfigPath: plain })).server.href).toBe('http://localhost:8080/');
    const secure = await kubeconfig({ server: '10.0.0.1:6443', 'certificate-authority-data': 'Q0E=' }, {});
    expect((await loadClusterAccess({ kubeconfigPath: secure })).server.href).toBe('https://10.0.0.1:6443/');
  });

  test('verifies the server also when the context has no user', async () => {
    const contexts = [{ name: 'c', context: { cluster: 'k' } }];
    const file = await kubeconfig({ server, 'certificate-authority-data': 'Q0E=' }, {}, { contexts });
    const access = await loadClusterAccess({ kubeconfigPath: file });
    expect(await access.headers()).toEqual({});
    expect(await access.tls()).toEqual({ ca: Buffer.from('CA'), rejectUnauthorized: true });
  });

  test('uses the named context and merges several files', async () => {
    const first = await kubeconfig({ server }, { token: 'one' });
    const second = await kubeconfig(
      { server: 'https://other' },
      { username: 'me', password: 'pw' },
      {
        clusters: [{ name: 'k2', cluster: { server: 'https://other' } }],
        users: [{ name: 'u2', user: { username: 'me', password: 'pw' } }],
        contexts: [{ name: 'c2', context: { cluster: 'k2', user: 'u2' } }],
      },
    );
    const both = ['/does/not/exist', first, second].join(path.delimiter);
    expect((await loadClusterAccess({ kubeconfigPath: both })).server.href).toBe(server);
    const other = await loadClusterAccess({ kubeconfigPath: both, context: 'c2' });
    expect(other.server.href).toBe('https://other/');
    expect(await other.headers()).toEqual({
      authorization: `Basic ${Buffer.from('me:pw').toString('base64')}`,
    });
  });

  test.each<[string, object, object, object, string]>([
    ['a missing current context', { server }, {}, { 'current-context': '' }, 'it has no current-context'],
    ['an unknown context', { server }, {}, { 'current-context': 'x' }, 'no context named x'],
    ['an unknown user', { server }, {}, { users: null }, 'no user named u'],
    ['a missing server address', {}, {}, {}, 'no cluster named k with a server address'],
    ['a proxy of an unknown kind', { server, 'proxy-url': 'ftp://p' }, {}, {}, 'proxy-url'],
    [
      'a certificate authority that would not be used',
      { server, 'insecure-skip-tls-verify': true, 'certificate-authority-data': 'Q0E=' },
      {},
      {},
      'has a certificate authority and insecure-skip-tls-verify',
    ],
    [
      'a certificate authority that is given twice',
      { server, 'certificate-authority': 'ca.crt', 'certificate-authority-data': 'Q0E=' },
      {},
      {},
      'both certificate-authority and certificate-authority-data',
    ],
    ['a certificate without a key', { server }, { 'client-certificate-data': 'Qw==' }, {}, 'without a key'],
    ['two ways to authenticate', { server }, { token: 't', username: 'u' }, {}, 'only one is allowed'],
    ['groups without a user', { server }, { 'as-groups': ['g'] }, {}, 'but no as'],
    [
      'a plugin without a mode',
      { server },
      { exec: { apiVersion: V1, command: 'x' } },
      {},
      'interactiveMode',
    ],
    [
      'a plugin of an unknown version',
      { server },
      { exec: { apiVersion: 'client.authentication.k8s.io/v1alpha1', command: 'x' } },
      {},
      'needs apiVersion client.authentication.k8s.io/v1',
    ],
    [
      'an auth-provider, which is not supported',
      { server },
      { 'auth-provider': { name: 'gcp' } },
      {},
      'auth-provider gcp is not supported',
    ],
  ])('reports %s', async (_name, cluster, user, rest, message) => {
    const file = await kubeconfig(cluster, user, rest);
    await expect(loadClusterAccess({ kubeconfigPath: file })).rejects.toThrow(message);
  });

  test('reports a missing file, and a file that is not YAML', async () => {
    await expect(loadClusterAccess({ kubeconfigPath: '/does/not/exist' })).rejects.toThrow(
      '/does/not/exist: ENOENT',
    );
    const file = path.join(await temporaryFolder(), 'config');
    await writeFile(file, 'token: {secret');
    await expect(loadClusterAccess({ kubeconfigPath: file })).rejects.toThrow('it is not YAML');
    await expect(loadClusterAccess({})).rejects.toThrow('neither a kubeconfig');
  });
});

describe('the in-cluster configuration', () => {
  test('uses the service account of the pod', async () => {
    const folder = await temporaryFolder();
    for (const [name, text] of [
      ['ca.crt', 'CA'],
      ['token', 'T'],
      ['namespace', 'berth'],
    ]) {
      await writeFile(path.join(folder, name ?? ''), text ?? '');
    }
    const environment = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '6443' };
    const access = await loadClusterAccess({ inCluster: true, environment, serviceAccountPath: folder });
    expect(access.server.href).toBe('https://[fd00::1]:6443/');
    expect(access.namespace).toBe('berth');
    expect(await access.headers()).toEqual({ authorization: 'Bearer T' });
    expect(await access.tls()).toMatchObject({ ca: 'CA', rejectUnauthorized: true });
    const named = await loadClusterAccess({ inCluster: true, serviceAccountPath: folder });
    expect(named.server.href).toBe('https://kubernetes.default.svc/');
  });

  test('fails when there is no token of a service account', async () => {
    const access = await loadClusterAccess({ inCluster: true, serviceAccountPath: '/does/not/exist' });
    await expect(access.headers()).rejects.toThrow(
      'failed to read the token file /does/not/exist/token: ENOENT',
    );
  });
});

describe('exec plugins', () => {
  async function plugin(script: string, more: object = {}): Promise<{ file: string; folder: string }> {
    const folder = await temporaryFolder();
    const command = path.join(folder, 'plugin');
    await writeFile(command, `#!/bin/sh\n${script}\n`);
    await chmod(command, 0o755);
    const exec = {
      apiVersion: V1,
      command: './plugin',
      args: ['get'],
      env: [{ name: 'WHO', value: 'me' }],
      interactiveMode: 'IfAvailable',
      provideClusterInfo: true,
      installHint: 'install the plugin',
      ...more,
    };
    const file = path.join(folder, 'config');
    const extensions = [{ name: 'client.authentication.k8s.io/exec', extension: { audience: 'a' } }];
    const cluster = { server, 'certificate-authority-data': 'Q0E=', extensions };
    await copyFile(await kubeconfig(cluster, { exec }), file);
    return { file, folder };
  }

  test('run only once until the credential expires or is rejected', async () => {
    const { file } = await plugin(`
      echo run >> "$(dirname "$0")/runs"
      n=$(wc -l < "$(dirname "$0")/runs" | tr -d ' ')
      echo "{\\"kind\\":\\"ExecCredential\\",\\"status\\":{\\"token\\":\\"$1-$WHO-$n\\",\\"clientCertificateData\\":\\"C\\",\\"clientKeyData\\":\\"K\\",\\"expirationTimestamp\\":\\"2099-01-01T00:00:00Z\\"}}"`);
    const access = await loadClusterAccess({ kubeconfigPath: file });
    const [one, two] = await Promise.all([access.headers(), access.headers()]);
    expect([one, two]).toEqual(Array(2).fill({ authorization: 'Bearer get-me-1' }));
    expect(await access.tls()).toMatchObject({ cert: 'C', key: 'K' });
    access.invalidate(one);
    expect(await access.headers()).toEqual({ authorization: 'Bearer get-me-2' });
    access.invalidate(one);
    expect(await access.headers()).toEqual({ authorization: 'Bearer get-me-2' });
    vi.useFakeTimers({ now: Date.parse('2099-01-01T00:00:01Z'), toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    expect(await access.headers()).toEqual({ authorization: 'Bearer get-me-3' });
  });

  test('get the cluster in KUBERNETES_EXEC_INFO, and no standard input', async () => {
    const { file, folder } = await plugin(`
      cat > "$(dirname "$0")/input"
      echo "$KUBERNETES_EXEC_INFO" > "$(dirname "$0")/info"
      echo '{"kind":"ExecCredential","status":{"token":"t"}}'`);
    const access = await loadClusterAccess({ kubeconfigPath: file });
    expect(await access.headers()).toEqual({ authorization: 'Bearer t' });
    expect(await readFile(path.join(folder, 'input'), 'utf8')).toBe('');
    const info = JSON.parse(await readFile(path.join(folder, 'info'), 'utf8'));
    const cluster = { server, 'certificate-authority-data': 'Q0E=', config: { audience: 'a' } };
    expect(info).toEqual({ apiVersion: V1, kind: 'ExecCredential', spec: { interactive: false, cluster } });
  });

  test('fail when they must ask the user', async () => {
    const { file } = await plugin('', { interactiveMode: 'Always' });
    const access = await loadClusterAccess({ kubeconfigPath: file });
    await expect(access.headers()).rejects.toThrow('needs a terminal (interactiveMode: Always)');
  });

  test('are named with their hint when they are missing', async () => {
    const { file } = await plugin('', { command: 'berth-no-such-plugin' });
    const access = await loadClusterAccess({ kubeconfigPath: file });
    await expect(access.headers()).rejects.toThrow(
      'exec plugin berth-no-such-plugin was not found. install the plugin',
    );
  });

  test('that hang are ended with their children, and run again for the next call', async () => {
    const { file, folder } = await plugin(`
      cd "$(dirname "$0")"
      if [ ! -e pids ]; then trap '' TERM; sleep 600 & echo $$ $! > pids; while true; do wait; done; fi
      echo '{"kind":"ExecCredential","status":{"token":"t"}}'`);
    const access = await kubeconfigAccess(file, undefined, 1);
    await expect(Promise.all([access.headers(), access.tls()])).rejects.toThrow('did not exit within 1 s');
    expect(await access.headers()).toEqual({ authorization: 'Bearer t' });
    const pids = (await readFile(path.join(folder, 'pids'), 'utf8')).trim().split(' ').map(Number);
    const isRunning = (pid: number) => existsSync(`/proc/${pid}`);
    expect(pids.map(isRunning)).toEqual([true, true]);
    await untilPasses(() => expect(pids.map(isRunning)).toEqual([false, false]));
    // The end of the former plugin does not drop the credential.
    expect(await access.headers()).toEqual({ authorization: 'Bearer t' });
  });

  test.each([
    ['echo secret-token >&2; exit 3', 'failed; run it to see its error'],
    ['echo profile not found >&2; exit 1', 'failed; run it to see its error'],
    ['echo no json', 'did not print JSON'],
    ['echo "{}"', 'printed no ExecCredential'],
    [`echo '{"status":{"clientCertificateData":"C"}}'`, 'printed no ExecCredential'],
  ])('cause an error without their output when they run "%s"', async (script, message) => {
    const { file } = await plugin(script);
    const access = await loadClusterAccess({ kubeconfigPath: file });
    const error = await access.headers().catch((thrown: unknown) => thrown as Error);
    expect((error as Error).message).toContain(message);
    expect((error as Error).message).not.toContain('secret-token');
  });
});

describe('the client', () => {
  async function listen(tlsServer: Server): Promise<string> {
    await new Promise<void>((resolve) => tlsServer.listen(0, '127.0.0.1', resolve));
    return `https://127.0.0.1:${(tlsServer.address() as AddressInfo).port}`;
  }
  async function version(address: string, ca: string, more: object = {}) {
    const file = await kubeconfig(
      { server: address, 'certificate-authority-data': Buffer.from(ca).toString('base64') },
      { token: 't' },
    );
    const client = await createKubeClient({
      kubeconfigPath: file,
      userAgent: 'x',
      requestTimeoutMs: 5_000,
      ...more,
    });
    onTestFinished(() => client.close());
    return (await client.request('GET', '/version')).body;
  }

  test('uses HTTP/2 when the server offers it, and HTTP/1.1 otherwise or when configured', async () => {
    const { cert, key } = selfSigned();
    const both = http2.createSecureServer({ cert, key, allowHTTP1: true }, (request, response) => {
      response.end(JSON.stringify({ version: request.httpVersion }));
    });
    const old = https.createServer({ cert, key }, (request, response) => {
      response.end(JSON.stringify({ version: request.httpVersion }));
    });
    onTestFinished(() => void [both.close(), old.close()]);
    const modern = await listen(both);
    expect(await version(modern, cert)).toEqual({ version: '2.0' });
    expect(await version(modern, cert, { protocol: 'http1' })).toEqual({ version: '1.1' });
    expect(await version(await listen(old), cert)).toEqual({ version: '1.1' });
  });

  test('reads a rejected token again for the next call', async () => {
    const plain = http.createServer(({ headers }, response) => {
      response.writeHead(headers.authorization === 'Bearer new' ? 200 : 401).end('{}');
    });
    onTestFinished(() => void plain.close());
    const address = (await listen(plain)).replace('https', 'http');
    const file = await kubeconfig({ server: address }, { tokenFile: 'token' });
    const token = path.join(path.dirname(file), 'token');
    await writeFile(token, 'old');
    const client = await createKubeClient({ kubeconfigPath: file, userAgent: 'x', requestTimeoutMs: 5_000 });
    onTestFinished(() => client.close());
    await expect(client.request('GET', '/x')).rejects.toMatchObject({
      kind: 'unauthorized',
      retryable: true,
    });
    await writeFile(token, 'new');
    expect((await client.request('GET', '/x')).status).toBe(200);
  });

  test('keeps a new credential when a late 401 rejects the former one', async () => {
    const late: http.ServerResponse[] = [];
    const plain = http.createServer(({ headers, url }, response) => {
      const isCurrent = headers.authorization === 'Bearer t2';
      if (url === '/late' && !isCurrent) late.push(response);
      else response.writeHead(isCurrent ? 200 : 401).end('{}');
    });
    onTestFinished(() => void plain.close());
    const address = (await listen(plain)).replace('https', 'http');
    const script = 'n=$(($(cat "$0") + 1)); echo $n > "$0"; echo "{\\"status\\":{\\"token\\":\\"t$n\\"}}"';
    const runs = path.join(await temporaryFolder(), 'runs');
    await writeFile(runs, '0');
    const exec = { apiVersion: V1, command: 'sh', args: ['-c', script, runs], interactiveMode: 'Never' };
    const file = await kubeconfig({ server: address }, { exec });
    const client = await createKubeClient({ kubeconfigPath: file, userAgent: 'x', requestTimeoutMs: 5_000 });
    onTestFinished(() => client.close());
    const first = client.request('GET', '/late').catch((error: unknown) => error);
    await untilPasses(() => expect(late).toHaveLength(1));
    await expect(client.request('GET', '/x')).rejects.toMatchObject({ status: 401 });
    expect((await client.request('GET', '/x')).status).toBe(200);
    late[0]?.writeHead(401).end('{}');
    expect(await first).toMatchObject({ status: 401 });
    expect((await client.request('GET', '/x')).status).toBe(200);
    expect(await readFile(runs, 'utf8')).toBe('2\n');
  });

  test('rejects a server with a certificate of another authority', async () => {
    const { cert, key } = selfSigned();
    const impostor = https.createServer({ cert, key });
    onTestFinished(() => void impostor.close());
    await expect(version(await listen(impostor), selfSigned().cert)).rejects.toMatchObject({
      kind: 'network',
      message: expect.stringMatching(/certificate/),
    });
  });
});
