/** The port of one client at a proxy, where its bytes can be stopped and its connections cut. */
import net, { type AddressInfo } from 'node:net';
import { setImmediate as nextRound } from 'node:timers/promises';

type State = 'open' | 'blackhole' | 'cut';

/** A connection of the client, as the servers behind the port see it. */
export interface ClientConnection {
  /** From 1, in the order of their coming to this port. */
  readonly number: number;
  /** Fires when the client has closed it, was killed, or was cut. */
  readonly gone: AbortSignal;
  /** The client sees its connection reset. */
  reset(): void;
}

class Pair implements ClientConnection {
  readonly number: number;
  readonly #gone = new AbortController();
  readonly #client: net.Socket;
  /** To the server behind; none for a connection that came in a blackhole. */
  #inner: net.Socket | undefined;

  constructor(number: number, client: net.Socket) {
    this.number = number;
    this.#client = client;
    client.setNoDelay(true);
    // A reset is an error too; what is to be done is done on `close`.
    client.on('error', () => undefined);
    client.once('end', () => this.#gone.abort());
    client.once('close', () => {
      this.#gone.abort();
      this.#inner?.destroy();
    });
  }

  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  get isOpen(): boolean {
    return !this.#client.destroyed;
  }

  get innerPort(): number | undefined {
    return this.#inner?.localPort;
  }

  join(port: number): void {
    const inner = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    this.#inner = inner;
    inner.on('error', () => this.reset());
    inner.once('close', () => this.#client.destroy());
    this.#client.pipe(inner);
    inner.pipe(this.#client);
  }

  /** Not a byte passes any more, not even the end. */
  silence(): void {
    const inner = this.#inner;
    if (inner === undefined) return;
    this.#client.unpipe(inner).pause();
    inner.unpipe(this.#client).pause();
  }

  reset(): void {
    this.#gone.abort();
    const client = this.#client;
    // While its end is being sent a reset is refused (EINVAL), and a socket that has tried it never closes.
    const isEnding = client.writableEnded && !client.writableFinished && client.writableLength === 0;
    if (isEnding) client.once('finish', () => client.resetAndDestroy());
    else client.resetAndDestroy();
  }
}

/** Takes the connections of one client, and leads each to a port of this machine. */
export class ClientPort {
  readonly #pairs = new Set<Pair>();
  readonly #server = net.createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) =>
    this.#accept(client),
  );
  readonly #target: number;
  #state: State;
  #count = 0;

  constructor(targetPort: number, state: State) {
    this.#target = targetPort;
    this.#state = state;
  }

  start(): Promise<void> {
    return listen(this.#server);
  }

  get port(): number {
    return portOf(this.#server);
  }

  /** The connection that a server behind knows by its remote port; known once it has sent something. */
  connectionFrom(innerPort: number | undefined): ClientConnection | undefined {
    if (innerPort === undefined) return undefined;
    return [...this.#pairs].find((pair) => pair.innerPort === innerPort);
  }

  get connections(): number {
    return [...this.#pairs].filter(({ isOpen }) => isOpen).length;
  }

  set(state: State): void {
    const before = this.#state;
    this.#state = state;
    if (state === 'blackhole') for (const pair of this.#pairs) pair.silence();
    else if (state === 'cut' || before === 'blackhole') for (const pair of this.#pairs) pair.reset();
  }

  async stop(): Promise<void> {
    this.set('cut');
    await close(this.#server);
  }

  #accept(client: net.Socket): void {
    this.#count += 1;
    const pair = new Pair(this.#count, client);
    this.#pairs.add(pair);
    client.once('close', () => this.#pairs.delete(pair));
    if (this.#state === 'cut') pair.reset();
    else if (this.#state === 'open') pair.join(this.#target);
  }
}

/** The ports of all clients of one proxy. */
export class ClientPorts {
  readonly #ports = new Map<string, ClientPort>();
  /** Also of clients that come later. */
  #state: State = 'open';

  get(client: string): ClientPort | undefined {
    return this.#ports.get(client);
  }

  /** Opens the port of a client, leading to `server`, which begins to listen. */
  async add(client: string, server: net.Server): Promise<ClientPort> {
    await listen(server);
    const port = new ClientPort(portOf(server), this.#state);
    this.#ports.set(client, port);
    await port.start();
    return port;
  }

  set(state: State, client?: string): void {
    if (client === undefined) this.#state = state;
    for (const port of this.#of(client)) port.set(state);
  }

  connections(client?: string): number {
    return this.#of(client).reduce((sum, { connections }) => sum + connections, 0);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#of().map((port) => port.stop()));
  }

  #of(client?: string): ClientPort[] {
    if (client === undefined) return [...this.#ports.values()];
    const port = this.#ports.get(client);
    if (port === undefined) throw new Error(`failed to find the client ${client}: it has no port here`);
    return [port];
  }
}

/** What each server has accepted and not closed. */
const accepted = new WeakMap<net.Server, Set<net.Socket>>();

/** Resolves when the server listens, on a free port of the loopback interface. */
export function listen(server: net.Server): Promise<void> {
  const sockets = new Set<net.Socket>();
  accepted.set(server, sockets);
  server.on('connection', (socket: net.Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve());
  });
}

export function portOf(server: net.Server): number {
  return (server.address() as AddressInfo).port;
}

/**
 * Ends its connections; resolves when it has none any more. By itself a session of HTTP/2 that had something to write
 * when its client went away never ends.
 */
export function close(server: net.Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  for (const socket of accepted.get(server) ?? []) socket.destroy();
  return closed;
}

/** A connection that has ended by now is known to have after fewer rounds of the event loop than these. */
const ROUNDS = 10;

/** After it, `gone` is exact as of its call: also of a client that was killed a moment before. */
export async function untilEndsAreKnown(): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) await nextRound();
}
