/**
 * Connections between the network of a node and that of this machine. They use unix sockets in the state folder, because both
 * sides see the same files. The first line of each connection is a command, and the rest is forwarded.
 *
 * Commands to the inside: `connect HOST PORT`, and `listen HOST PORT`, which exposes a local port of this machine while the
 * connection is open. To the outside: the number of the local port.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';

export const insideSocket = (stateDir: string) => join(stateDir, 'inside.sock');
export const outsideSocket = (stateDir: string) => join(stateDir, 'outside.sock');

/** Forwards data in both directions until one of the sockets closes. */
export function splice(one: Socket, other: Socket): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.pipe(to);
    from.on('error', () => to.destroy());
    from.on('close', () => to.destroy());
  }
}

/** Calls `take` with the first line of a connection. The remaining data stays in the socket. */
export function onFirstLine(socket: Socket, take: (line: string) => void): void {
  let received = Buffer.alloc(0);
  const read = (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    const end = received.indexOf('\n');
    if (end < 0) return;
    socket.off('data', read);
    socket.pause();
    if (received.length > end + 1) socket.unshift(received.subarray(end + 1));
    take(received.subarray(0, end).toString('utf8'));
  };
  socket.on('data', read);
  socket.on('error', () => socket.destroy());
}

/** Starts to listen. Resolves when the server listens. */
export function listening(
  server: Server,
  where: { path: string } | { host: string; port: number },
): Promise<Server> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(where, () => resolve(server));
  });
}

export interface Tunnel {
  /** Forwards a local port to an address in the node's network. Returns the local port. @param localPort 0: a free port */
  forward(host: string, port: number, localPort?: number): Promise<number>;
  /** Makes a local port of this machine reachable in the node's network, at `host` and the same port. */
  expose(host: string, port: number): Promise<void>;
  close(): void;
}

/** Connects to an address in the network of a node. Works in every process of this machine. */
export function connectInside(stateDir: string, host: string, port: number): Socket {
  const socket = connect({ path: insideSocket(stateDir) });
  socket.write(`connect ${host} ${port}\n`);
  return socket;
}

/** Opens the outer end of the tunnel. */
export async function openTunnel(stateDir: string): Promise<Tunnel> {
  const servers: Server[] = [];
  const exposed = new Set<number>();
  const exposures: Socket[] = [];
  const out = createServer((socket) => {
    onFirstLine(socket, (line) => {
      const port = Number(line);
      if (exposed.has(port)) splice(socket, connect({ host: '127.0.0.1', port }));
      else socket.destroy();
    });
  });
  servers.push(await listening(out, { path: outsideSocket(stateDir) }));
  out.unref();
  return {
    forward: async (host, port, localPort = 0) => {
      const server = createServer((socket) => splice(socket, connectInside(stateDir, host, port)));
      servers.push(await listening(server, { host: '127.0.0.1', port: localPort }));
      server.unref();
      const address = server.address();
      return typeof address === 'object' && address !== null ? address.port : localPort;
    },
    expose: (host, port) =>
      new Promise((resolve, reject) => {
        exposed.add(port);
        const socket = connect({ path: insideSocket(stateDir) });
        exposures.push(socket);
        onFirstLine(socket, (line) => {
          socket.resume();
          if (line === 'ok') resolve();
          else reject(new Error(`failed to expose port ${port} to the node: ${line}`));
        });
        socket.once('error', reject);
        socket.write(`listen ${host} ${port}\n`);
        socket.unref();
      }),
    close: () => {
      for (const socket of exposures) socket.destroy();
      for (const server of servers) server.close();
    },
  };
}
