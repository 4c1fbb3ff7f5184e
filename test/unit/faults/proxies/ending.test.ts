/** Proxies end, whatever their clients and servers were doing: what does not end keeps a run of plans from its verdicts. */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import http2 from 'node:http2';
import https from 'node:https';
import net from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import { expect, onTestFinished, test, vi } from 'vitest';
import { loadClusterAccess } from '../../../../src/cluster/kube/access/cluster-access.ts';
import { ClientPorts, close, listen, portOf } from '../../../faults/proxies/client-port.ts';
import { startKubernetesProxy } from '../../../faults/proxies/kubernetes-proxy.ts';
import { selfSigned } from '../../cluster/kube/self-signed.ts';
import { temporaryFolder } from '../../cluster/kube/support.ts';

const PATIENCE = { timeout: 20_000, interval: 10 };

/** An API server with much to say; returns its kubeconfig. */
async function talkative(folder: string): Promise<string> {
  const certificate = selfSigned();
  const server = https.createServer({ ...certificate }, (_request, response) => {
    response.on('error', () => undefined);
    response.end(Buffer.alloc(4_000_000, 'x'));
  });
  await listen(server);
  onTestFinished(() => close(server));
  const ca = Buffer.from(certificate.cert).toString('base64');
  const cluster = { server: `https://127.0.0.1:${portOf(server)}`, 'certificate-authority-data': ca };
  const file = path.join(folder, 'kubeconfig');
  const content = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'real', cluster }],
    users: [{ name: 'admin', user: { token: 'token' } }],
    contexts: [{ name: 'real', context: { cluster: 'real', user: 'admin' } }],
    'current-context': 'real',
  };
  await writeFile(file, JSON.stringify(content));
  return file;
}

/** A client of HTTP/2 that reads nothing of what it asks for; returns its connection. */
async function unread(port: number, requests: number): Promise<net.Socket> {
  const raw = net.connect(port, '127.0.0.1');
  const secure = tls.connect({ socket: raw, ALPNProtocols: ['h2'], rejectUnauthorized: false });
  await once(secure, 'secureConnect');
  const settings = { initialWindowSize: 16_000_000 };
  const session = http2.connect('https://127.0.0.1', { createConnection: () => secure, settings });
  for (const broken of [raw, secure, session]) broken.on('error', () => undefined);
  const answers = Array.from({ length: requests }, (_, nr) => session.request({ ':path': `/list/${nr}` }));
  for (const answer of answers) answer.on('error', () => undefined);
  await Promise.all(answers.map((answer) => once(answer, 'response')));
  return raw;
}

test('clients of HTTP/2 that are killed with answers on their way keep nothing open', async () => {
  const folder = await temporaryFolder();
  const proxy = await startKubernetesProxy({ folder });
  const kubeconfigPath = await proxy.kubeconfigFor('killed', await talkative(folder));
  const port = Number((await loadClusterAccess({ kubeconfigPath })).server.port);
  (await unread(port, 4)).resetAndDestroy();
  (await unread(port, 4)).destroy();
  await proxy.stop();
  expect(proxy.connections()).toBe(0);
  await vi.waitFor(() => expect(proxy.upstreamRequests()).toBe(0), PATIENCE);
});

test('a connection that is cut while its end is being sent is closed', async () => {
  const behind = new Set<net.Socket>();
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    behind.add(socket.once('close', () => behind.delete(socket)));
  });
  const ports = new ClientPorts();
  const { port } = await ports.add('cut', server);
  const client = net.connect(port, '127.0.0.1').on('error', () => undefined);
  await vi.waitFor(() => expect(behind.size).toBe(1), PATIENCE);
  let wasCut = false;
  const end = net.Socket.prototype.end;
  const spy = vi.spyOn(net.Socket.prototype, 'end').mockImplementation(function (this: net.Socket, ...args) {
    const ended = end.apply(this, args);
    if (this.localPort !== port) return ended;
    wasCut = true;
    ports.set('cut');
    return ended;
  });
  onTestFinished(() => spy.mockRestore());
  for (const socket of behind) socket.end();
  await new Promise((resolve) => client.once('close', resolve).resume());
  expect(wasCut).toBe(true);
  await vi.waitFor(() => expect([ports.connections(), behind.size]).toEqual([0, 0]), PATIENCE);
  await ports.stop();
  await close(server);
});
