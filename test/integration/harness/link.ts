/** The way from a listener to its hub, which a test can hold up or cut; and TLS in front of a hub without it. */
import net, { type AddressInfo } from 'node:net';
import tls from 'node:tls';
import type { Certificate } from '../../unit/cluster/kube/self-signed.ts';

interface Pair {
  readonly client: net.Socket;
  readonly server: net.Socket;
}

function join({ client, server }: Pair): void {
  client.pipe(server);
  server.pipe(client);
}

/** When one end goes, so does the other. */
function endTogether({ client, server }: Pair, onEnd: () => void): void {
  for (const [one, other] of [
    [client, server],
    [server, client],
  ] as const) {
    one.on('error', () => other.destroy());
    one.once('close', () => {
      onEnd();
      other.destroy();
    });
  }
}

const listen = (server: net.Server) =>
  new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
const portOf = (server: net.Server) => (server.address() as AddressInfo).port;
const close = (server: net.Server) => new Promise<void>((resolve) => server.close(() => resolve()));

/** A TCP connection for each one that comes, to a port of this machine. */
export class Link {
  readonly #target: number;
  readonly #pairs = new Set<Pair>();
  readonly #server = net.createServer({ pauseOnConnect: true }, (client) => this.#accept(client));
  #state: 'open' | 'held' | 'cut' = 'open';

  constructor(targetPort: number) {
    this.#target = targetPort;
  }

  start(): Promise<void> {
    return listen(this.#server);
  }

  get port(): number {
    return portOf(this.#server);
  }

  /** Bytes pass again; those that were held up arrive now, late. */
  open(): void {
    const wasHeld = this.#state === 'held';
    this.#state = 'open';
    if (wasHeld) for (const pair of this.#pairs) join(pair);
  }

  /** Connections stay, and new ones are taken, but not a byte passes. */
  hold(): void {
    this.#state = 'held';
    for (const { client, server } of this.#pairs) {
      client.unpipe(server);
      server.unpipe(client);
      client.pause();
      server.pause();
    }
  }

  /** Connections are reset, and new ones at once. */
  cut(): void {
    this.#state = 'cut';
    for (const { client } of this.#pairs) client.resetAndDestroy();
  }

  async stop(): Promise<void> {
    this.cut();
    await close(this.#server);
  }

  #accept(client: net.Socket): void {
    if (this.#state === 'cut') {
      client.on('error', () => undefined);
      client.resetAndDestroy();
      return;
    }
    const pair = { client, server: net.connect(this.#target, '127.0.0.1') };
    this.#pairs.add(pair);
    endTogether(pair, () => this.#pairs.delete(pair));
    if (this.#state === 'open') join(pair);
  }
}

export interface TlsFront {
  readonly port: number;
  stop(): Promise<void>;
}

/** Ends TLS with a certificate, and passes on in the clear to a port of this machine. */
export async function startTlsFront({ cert, key }: Certificate, targetPort: number): Promise<TlsFront> {
  const pairs = new Set<Pair>();
  const server = tls.createServer({ cert, key }, (client) => {
    const pair = { client, server: net.connect(targetPort, '127.0.0.1') };
    pairs.add(pair);
    endTogether(pair, () => pairs.delete(pair));
    join(pair);
  });
  // A client that does not trust the certificate hangs up.
  server.on('tlsClientError', () => undefined);
  await listen(server);
  return {
    port: portOf(server),
    stop: async () => {
      for (const { client } of pairs) client.destroy();
      await close(server);
    },
  };
}
