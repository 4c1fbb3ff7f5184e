import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { reachableContext } from '../../../scripts/demo/kube-context.ts';

let folder: string;
let server: Server;
let address: string;
let status: number;
let requests: { url: string | undefined; authorization: string | undefined }[];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kube-context-'));
  status = 200;
  requests = [];
  server = createServer(({ url, headers }, response) => {
    requests.push({ url, authorization: headers.authorization });
    // 0: no response
    if (status !== 0) response.writeHead(status).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

/** A kubeconfig whose user has a token, and an exec plugin that leaves a file. */
function kubeconfig(server: string, path = join(folder, 'config')): string {
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: '/bin/sh',
    args: ['-c', `touch '${join(folder, 'plugin-ran')}'`],
    interactiveMode: 'Never',
  };
  const config = {
    clusters: [{ name: 'one', cluster: { server } }],
    users: [{ name: 'me', user: { token: 'secret', exec } }],
    contexts: [{ name: 'first', context: { cluster: 'one', user: 'me' } }],
    'current-context': 'first',
  };
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, JSON.stringify(config));
  return path;
}

describe('reachableContext', () => {
  test.each([200, 401, 403])('returns the current context when its server answers %i', async (answer) => {
    status = answer;
    const file = kubeconfig(address);
    expect(await reachableContext({ KUBECONFIG: file })).toEqual({
      name: 'first',
      server: address,
      variable: file,
    });
  });

  test('sends no credentials, and runs no exec plugin', async () => {
    await reachableContext({ KUBECONFIG: kubeconfig(address) });
    expect(requests).toEqual([{ url: '/version', authorization: undefined }]);
    expect(() => rmSync(join(folder, 'plugin-ran'))).toThrow(/ENOENT/);
  });

  test('keeps the path of the server', async () => {
    await reachableContext({ KUBECONFIG: kubeconfig(`${address}/clusters/c-1`) });
    expect(requests.map(({ url }) => url)).toEqual(['/clusters/c-1/version']);
  });

  test('reads ~/.kube/config when KUBECONFIG is not set', async () => {
    kubeconfig(address, join(folder, '.kube', 'config'));
    expect(await reachableContext({ HOME: folder })).toMatchObject({ name: 'first' });
  });

  test.each([
    ['there is no kubeconfig', () => ({ HOME: folder })],
    ['the file of KUBECONFIG is missing', () => ({ KUBECONFIG: join(folder, 'missing') })],
    ['no server listens', () => ({ KUBECONFIG: kubeconfig('https://127.0.0.1:1') })],
    ['the server does not speak TLS', () => ({ KUBECONFIG: kubeconfig(address.replace('http', 'https')) })],
  ])('returns null when %s', async (_reason, env) => {
    expect(await reachableContext(env())).toBeNull();
  });

  test.each([
    ['does not answer in time', 0],
    ['is not an API server', 404],
  ])('returns null when the server %s', async (_reason, answer) => {
    status = answer;
    const before = Date.now();
    expect(await reachableContext({ KUBECONFIG: kubeconfig(address) })).toBeNull();
    expect(Date.now() - before).toBeLessThan(10_000);
  });
});
