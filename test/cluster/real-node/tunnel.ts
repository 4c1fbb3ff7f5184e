/**
 * The ways between the network of a node and that of this machine. They meet at unix sockets in the state folder, for a
 * path is seen from both. Each connection begins with a line that says what is wanted; what follows is passed on.
 *
 * To the inside: `connect HOST PORT` and `listen HOST PORT`, which exposes a port of this machine's loopback for as long
 * as the connection is open. To the outside: the port on loopback.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';

export const insideSocket = (stateDir: string) => join(stateDir, 'inside.sock');
export const outsideSocket = (stateDir: string) => join(stateDir, 'outside.sock');

/** Passes on what each says to the other until one of them ends. */
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

/** Calls `take` with the first line of each connection; what came after it stays to be read. */
export function onFirstLine(socket: Socket, take: (line: string) => void): void {
  let said = Buffer.alloc(0);
  const read = (chunk: Buffer) => {
    said = Buffer.concat([said, chunk]);
    const end = said.indexOf('\n');
    if (end < 0) return;
    socket.off('data', read);
    socket.pause();
    if (said.length > end + 1) socket.unshift(said.subarray(end + 1));
    take(said.subarray(0, end).toString('utf8'));
  };
  socket.on('data', read);
  socket.on('error', () => socket.destroy());
}

/** Begins to listen. */
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
  /** Port on this machine's loopback that leads to a place in the node's network; 0: a free one. */
  forward(host: string, port: number, localPort?: number): Promise<number>;
  /** Makes a port of this machine's loopback answer inside, at `host` and the same port. */
  expose(host: string, port: number): Promise<void>;
  close(): void;
}

/** A connection to a place in the network of a node, from whatever process of this machine. */
export function connectInside(stateDir: string, host: string, port: number): Socket {
  const socket = connect({ path: insideSocket(stateDir) });
  socket.write(`connect ${host} ${port}\n`);
  return socket;
}

/** The outer end. */
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
