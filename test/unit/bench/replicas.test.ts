import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { startBalancer } from '../../bench/api/replicas.bench.ts';
import { HttpConnection } from '../../bench/load/http-connection.ts';

const stops: (() => unknown)[] = [];
afterAll(() => Promise.all(stops.map((stop) => stop())));

async function serverNamed(name: string): Promise<string> {
  const server = createServer((_request, response) => response.end(name));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stops.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a connection stays where chance has put it, and is counted there', async () => {
  const dealt = [0, 0.99, 0.5];
  const balancer = await startBalancer(() => dealt.shift() ?? 0);
  stops.push(() => balancer.stop());
  const [one, two] = [await serverNamed('one'), await serverNamed('two')];
  const request = Buffer.from('GET / HTTP/1.1\r\nhost: here\r\n\r\n');
  /** Who answers two requests over one new connection. */
  const answers = async () => {
    const connection = new HttpConnection(new URL(balancer.url));
    const bodies = [await connection.send(request), await connection.send(request)];
    connection.close();
    return bodies.map(({ body }) => body.toString());
  };
  balancer.balance([one, two]);
  expect([await answers(), await answers(), await answers()]).toEqual([
    ['one', 'one'],
    ['two', 'two'],
    ['two', 'two'],
  ]);
  expect(balancer.given()).toEqual([1, 2]);
  balancer.balance([one]);
  expect(balancer.given()).toEqual([0]);
  expect(await answers()).toEqual(['one', 'one']);
  expect(balancer.given()).toEqual([1]);
});

test('where there is nobody to hand it to, a connection is closed', async () => {
  const balancer = await startBalancer();
  stops.push(() => balancer.stop());
  const connection = new HttpConnection(new URL(balancer.url));
  await expect(connection.send(Buffer.from('GET / HTTP/1.1\r\n\r\n'))).rejects.toThrow();
});
