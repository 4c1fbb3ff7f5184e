/** The port of one client at a proxy. The proxy can stop its bytes and cut its connections. */
import net, { type AddressInfo } from 'node:net';
import { setImmediate as nextRound } from 'node:timers/promises';

type State = 'open' | 'blackhole' | 'cut';

/** A connection of the client, as the server behind the port sees it. */
export interface ClientConnection {
  /** Number of the connection at this port, from 1. */
  readonly number: number;
  /** Fires when the client has closed the connection, the client was killed, or the connection was cut. */
  readonly gone: AbortSignal;
  /** Resets the connection to the client. */
  reset(): void;
}

class Pair implements ClientConnection {
  readonly number: number;
  readonly #gone = new AbortController();
  readonly #client: net.Socket;
  /** Connection to the server behind the port. Undefined for a connection that was opened during a blackhole. */
  #inner: net.Socket | undefined;

  constructor(number: number, client: net.Socket) {
    this.number = number;
    this.#client = client;
    client.setNoDelay(true);
    // A reset is reported as an error too. The cleanup is done on `close`.
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

  /** Stops all bytes in both directions, including the end of the stream. */
  silence(): void {
    const inner = this.#inner;
    if (inner === undefined) return;
    this.#client.unpipe(inner).pause();
    inner.unpipe(this.#client).pause();
  }

  reset(): void {
    this.#gone.abort();
    const client = this.#client;
    // A reset during the final write fails with EINVAL, and then the socket would never close.
    const isEnding = client.writableEnded && !client.writableFinished && client.writableLength === 0;
    if (isEnding) client.once('finish', () => client.resetAndDestroy());
    else client.resetAndDestroy();
  }
}

/** Accepts the connections of one client, and forwards each to a local port. */
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

  /** The connection with this local port towards the server. It is known once the client has sent something. */
  connectionFrom(innerPort: number | undefined): ClientConnection | undefined {
    if (innerPort === undefined) return undefined;
    return [...this.#pairs].find((pair) => pair.innerPort === innerPort);
  }

  /** Number of open connections. */
  get connections(): number {
    return [...this.#pairs].filter(({ isOpen }) => isOpen).length;
  }

  /** Changes the state. Ending a blackhole resets the connections, because bytes may be lost. */
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
  /** Also the initial state of ports that are added later. */
  #state: State = 'open';

  get(client: string): ClientPort | undefined {
    return this.#ports.get(client);
  }

  /** Starts `server`, and opens a port for a client that forwards to it. */
  async add(client: string, server: net.Server): Promise<ClientPort> {
    await listen(server);
    const port = new ClientPort(portOf(server), this.#state);
    this.#ports.set(client, port);
    await port.start();
    return port;
  }

  /** Changes the state of one client, or of all. @throws Error if the client has no port */
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
    if (port === undefined) throw new Error(`client ${client} has no port at this proxy`);
    return [port];
  }
}

/** The open connections of each server. */
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

/** The port on which the server listens. */
export function portOf(server: net.Server): number {
  return (server.address() as AddressInfo).port;
}

/**
 * Closes a server and all its connections, and resolves when none is left. Without this, an HTTP/2 session with unsent data
 * whose client has gone would never end.
 */
export function close(server: net.Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  for (const socket of accepted.get(server) ?? []) socket.destroy();
  return closed;
}

/** Number of event loop iterations after which the end of a connection is certainly known. */
const ROUNDS = 10;

/** After this, `gone` also reflects a client that was killed just before the call. */
export async function untilEndsAreKnown(): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) await nextRound();
}
