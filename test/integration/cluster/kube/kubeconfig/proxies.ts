/** Proxies on the loopback interface: HTTP CONNECT, and SOCKS 5. */
import http from 'node:http';
import net from 'node:net';
import { close, listen, portOf } from '../../../../faults/proxies/client-port.ts';

export interface TestProxy {
  readonly url: string;
  /** Number of connections that it forwarded. */
  tunnels(): number;
  stop(): Promise<void>;
}

function join(client: net.Socket, server: net.Socket): void {
  client.pipe(server).pipe(client);
  client.on('error', () => server.destroy());
  server.on('error', () => client.destroy());
}

/** @param credentials `user:password` that the proxy requires */
export async function startConnectProxy(credentials?: string): Promise<TestProxy> {
  let tunnels = 0;
  const expected = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`;
  const server = http.createServer((_request, response) => response.writeHead(405).end());
  server.on('connect', (request: http.IncomingMessage, client: net.Socket) => {
    if (expected && request.headers['proxy-authorization'] !== expected) {
      client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
      return;
    }
    const { hostname, port } = new URL(`http://${request.url}`);
    const upstream = net.connect(Number(port), hostname, () => {
      tunnels += 1;
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      join(client, upstream);
    });
    upstream.once('error', () => client.destroy());
  });
  await listen(server);
  const at = `127.0.0.1:${portOf(server)}`;
  return {
    url: `http://${credentials ? `${credentials}@` : ''}${at}`,
    tunnels: () => tunnels,
    stop: () => close(server),
  };
}

const SOCKS_NO_AUTHENTICATION = Buffer.from([5, 0]);
const SOCKS_SUCCESS = Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
const IPV4 = 1;

/** Without authentication. A message of the handshake fits one packet on the loopback interface. */
export async function startSocksProxy(): Promise<TestProxy> {
  let tunnels = 0;
  const server = net.createServer((client) => {
    client.on('error', () => undefined);
    client.once('data', () => {
      client.write(SOCKS_NO_AUTHENTICATION);
      client.once('data', (request: Buffer) => {
        const isIp = request[3] === IPV4;
        const end = isIp ? 8 : 5 + (request[4] ?? 0);
        const host = isIp ? [...request.subarray(4, 8)].join('.') : request.toString('utf8', 5, end);
        const upstream = net.connect(request.readUInt16BE(end), host, () => {
          tunnels += 1;
          client.write(SOCKS_SUCCESS);
          join(client, upstream);
        });
        upstream.once('error', () => client.destroy());
      });
    });
  });
  await listen(server);
  return { url: `socks5://127.0.0.1:${portOf(server)}`, tunnels: () => tunnels, stop: () => close(server) };
}
