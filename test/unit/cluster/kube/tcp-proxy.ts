import net, { type AddressInfo } from 'node:net';

/** Forwards bytes to a server, until it is asked to swallow them or to cut the connections. */
export class TcpProxy {
  readonly #target: { host: string; port: number };
  readonly #pairs = new Set<{ client: net.Socket; server: net.Socket }>();
  readonly #listener = net.createServer((client) => this.#connect(client));
  #connections = 0;

  constructor(target: { host: string; port: number }) {
    this.#target = target;
  }

  async start(port = 0): Promise<void> {
    await new Promise<void>((resolve) => this.#listener.listen(port, '127.0.0.1', resolve));
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port;
  }

  /** Connections accepted so far. */
  get connections(): number {
    return this.#connections;
  }

  /** The current connections stay open, but forward nothing; later ones work. */
  swallow(): void {
    for (const { client, server } of this.#pairs) {
      for (const [from, to] of [
        [client, server],
        [server, client],
      ] as const) {
        from.unpipe(to);
        from.resume();
      }
    }
  }

  /** Resets the current connections; later ones work. */
  cut(): void {
    for (const { client, server } of this.#pairs) {
      client.resetAndDestroy();
      server.destroy();
    }
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#listener.close(resolve));
  }

  #connect(client: net.Socket): void {
    this.#connections += 1;
    const server = net.connect(this.#target);
    const pair = { client, server };
    this.#pairs.add(pair);
    client.pipe(server);
    server.pipe(client);
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.setNoDelay(true);
      one.on('error', () => other.destroy());
      one.once('close', () => {
        this.#pairs.delete(pair);
        other.destroy();
      });
    }
  }
}
