import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { loadClusterAccess } from '../../../../../src/cluster/kube/access/cluster-access.ts';
import { createTransport } from '../../../../../src/cluster/kube/transport/negotiate.ts';
import type {
  TransportRequest,
  TransportResponse,
} from '../../../../../src/cluster/kube/transport/transport.ts';
import {
  startConnectProxy,
  startSocksProxy,
} from '../../../../integration/cluster/kube/kubeconfig/proxies.ts';
import { untilPasses } from '../../../until-passes.ts';
import { temporaryFolder } from '../support.ts';

test.each([
  ['HTTP', startConnectProxy],
  ['SOCKS', startSocksProxy],
])(
  'calls through a proxy for %s open 64 connections at most, and watches open more',
  async (_name, start) => {
    const held: http.ServerResponse[] = [];
    let isHolding = true;
    const server = http.createServer((_request, response) => {
      if (isHolding) held.push(response);
      else response.end('{}');
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const proxy = await start();
    const kubeconfigPath = path.join(await temporaryFolder(), 'config');
    const cluster = {
      server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      'proxy-url': proxy.url,
    };
    const config = {
      clusters: [{ name: 'k', cluster }],
      contexts: [{ name: 'c', context: { cluster: 'k' } }],
      'current-context': 'c',
    };
    await writeFile(kubeconfigPath, JSON.stringify(config));
    const transport = createTransport({ ...(await loadClusterAccess({ kubeconfigPath })), protocol: 'auto' });
    onTestFinished(async () => {
      await transport.close();
      server.close();
      await proxy.stop();
    });
    const send = (lane: TransportRequest['lane']): Promise<TransportResponse> =>
      transport.send({ method: 'GET', path: '/', headers: {}, signal: AbortSignal.timeout(20_000), lane });

    const calls = Array.from({ length: 100 }, async () => text((await send('calls')).body));
    const watch = send('watches');
    await untilPasses(() => expect(held).toHaveLength(65));
    expect(proxy.tunnels()).toBe(65);
    isHolding = false;
    for (const response of held) response.end('{}');
    expect(await Promise.all(calls)).toEqual(Array(100).fill('{}'));
    expect(await text((await watch).body)).toBe('{}');
    expect(proxy.tunnels()).toBe(65);
  },
);
