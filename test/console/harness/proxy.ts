/** A proxy in front of API processes, as an ingress controller or a load balancer is. */
import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';

export interface ProxyOptions {
  readonly port: number;
  /** Taken away from paths, such as `/tools/berth`. Other paths get 404. Default: none. */
  readonly prefix?: string;
  /** Base URLs of the API processes. Requests go to each in turn. */
  readonly targets: readonly string[];
}

export async function startProxy({ port, prefix = '', targets }: ProxyOptions): Promise<Server> {
  let count = 0;
  const server = createServer((incoming, outgoing) => {
    const path = incoming.url ?? '';
    const target = targets[count++ % targets.length];
    if (!path.startsWith(prefix) || target === undefined) return void outgoing.writeHead(404).end();
    const url = new URL(path.slice(prefix.length) || '/', target);
    const { method, headers } = incoming;
    const forwarded = request(url, { ...(method === undefined ? {} : { method }), headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    forwarded.on('error', () => outgoing.destroy());
    outgoing.on('close', () => forwarded.destroy());
    incoming.pipe(forwarded);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
