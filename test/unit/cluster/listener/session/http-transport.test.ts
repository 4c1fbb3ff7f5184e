import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import {
  type ClosableTransport,
  httpTransport,
} from '../../../../../src/cluster/listener/session/http-transport.ts';
import { authority } from '../../kube/self-signed.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-transport-'));
const caFile = join(folder, 'ca.pem');
const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
  rmSync(folder, { recursive: true, force: true });
});

/** An https hub with a certificate of the authority; counts its connections. */
async function hub(ca: ReturnType<typeof authority>) {
  let connections = 0;
  const server = createServer(ca.issue(['127.0.0.1']), (_request, response) => response.end('{}'));
  server.on('secureConnection', () => (connections += 1));
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => connections,
  };
}

const get = ({ transport }: ClosableTransport) =>
  transport({ method: 'GET', path: '/v2', signal: AbortSignal.timeout(10_000) });

it('trusts only the authorities of the file, reads the file again after a failure, and keeps connections', async () => {
  const [right, wrong] = [authority(), authority()];
  const { url, connections } = await hub(right);
  writeFileSync(caFile, wrong.cert);
  const over = httpTransport({ hubUrl: url, apiKey: 'k', caFile });
  closers.push(() => over.close());
  await expect(get(over)).rejects.toThrow(/certificate/);
  writeFileSync(caFile, `${wrong.cert}${right.cert}`);
  const answer = await get(over);
  expect(answer).toMatchObject({ status: 200, body: '{}', date: expect.any(Date) });
  const taken = connections();
  await get(over);
  await get(over);
  expect(connections()).toBe(taken);
});
