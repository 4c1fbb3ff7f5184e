/** The inner end of the tunnel, which runs in the namespaces of a node: node tunnel-inside.ts <state folder> */
import { connect, createServer, type Socket } from 'node:net';
import { insideSocket, listening, onFirstLine, outsideSocket, splice } from './tunnel.ts';

const [stateDir = ''] = process.argv.slice(2);

/** Forwards every connection to this port to the outside, until `owner` closes. */
async function expose(owner: Socket, host: string, port: number): Promise<void> {
  const server = createServer((socket) => {
    const out = connect({ path: outsideSocket(stateDir) });
    out.write(`${port}\n`);
    splice(socket, out);
  });
  try {
    await listening(server, { host, port });
    owner.once('close', () => server.close()).resume();
    owner.write('ok\n');
  } catch (error) {
    owner.end(`${(error as Error).message}\n`);
  }
}

const server = createServer((socket) => {
  onFirstLine(socket, (line) => {
    const [verb, host = '', port] = line.split(' ');
    if (verb === 'connect') splice(socket, connect({ host, port: Number(port) }));
    else if (verb === 'listen') void expose(socket, host, Number(port));
    else socket.destroy();
  });
});
await listening(server, { path: insideSocket(stateDir) });
