/** The proxy in front of PostgreSQL. */
import net, { type Server } from 'node:net';
import {
  type ClientConnection,
  type ClientPort,
  ClientPorts,
  close,
  untilEndsAreKnown,
} from './client-port.ts';
import { PostgresConnection } from './postgres-connection.ts';
import type { PostgresProxy, SqlFault, SqlMessage, SqlRule } from './postgres-traffic.ts';
import { RuleBook, type RuleFailure, type RuleInForce } from './rules.ts';

const DEFAULT_PORT = 5432;

interface Client {
  readonly server: Server;
  readonly port: Promise<ClientPort>;
  target: { host: string; port: number };
  /** Resolves when held statements are released. */
  released: PromiseWithResolvers<void>;
}

class FaultyPostgres implements PostgresProxy {
  readonly #ports = new ClientPorts();
  readonly #rules = new RuleBook<SqlMessage, SqlFault>();
  readonly #clients = new Map<string, Client>();
  readonly #connections = new Set<PostgresConnection>();
  #messages: SqlMessage[] = [];
  #seq = 0;
  #dropsNotifications = false;
  #dropped = 0;

  async urlFor(client: string, url: string): Promise<string> {
    const through = new URL(url);
    const host = through.hostname.replace(/^\[|\]$/g, '');
    if (host === '') throw new Error('failed to connect to PostgreSQL: the URL has no host');
    const target = { host, port: Number(through.port || DEFAULT_PORT) };
    let known = this.#clients.get(client);
    if (known === undefined) {
      const server = net.createServer((socket) => this.#accept(client, socket));
      const port = this.#ports.add(client, server);
      known = { server, port, target, released: Promise.withResolvers() };
      this.#clients.set(client, known);
    }
    known.target = target;
    through.hostname = '127.0.0.1';
    through.port = String((await known.port).port);
    return through.href;
  }

  add(rule: SqlRule): RuleInForce<SqlMessage, SqlFault> {
    return this.#rules.add(rule);
  }

  dropNotifications(on: boolean): void {
    if (on) this.#dropped = 0;
    this.#dropsNotifications = on;
  }

  droppedNotifications(): number {
    return this.#dropped;
  }

  #takesNotification(): boolean {
    if (this.#dropsNotifications) this.#dropped += 1;
    return this.#dropsNotifications;
  }

  blackhole(client?: string): void {
    this.#ports.set('blackhole', client);
  }

  cut(client?: string): void {
    this.#ports.set('cut', client);
  }

  open(client?: string): void {
    this.#ports.set('open', client);
    for (const [name, waiting] of this.#clients)
      if (client === undefined || client === name) {
        waiting.released.resolve();
        waiting.released = Promise.withResolvers();
      }
  }

  messages(client?: string): readonly SqlMessage[] {
    return this.#messages.filter((message) => client === undefined || message.client === client);
  }

  clear(): void {
    this.#messages = [];
  }

  connections(client?: string): number {
    return this.#ports.connections(client);
  }

  takeFailures(): RuleFailure[] {
    return this.#rules.takeFailures();
  }

  async stop(): Promise<void> {
    await this.#ports.stop();
    // Destroyed, because a rule that still waits would keep the connections open.
    for (const connection of this.#connections) connection.destroy();
    await Promise.all([...this.#clients.values()].map(({ server }) => close(server)));
    // Waits for errors of rules that ended with their connections.
    await untilEndsAreKnown();
    this.#rules.assertPlayed();
  }

  #accept(name: string, socket: net.Socket): void {
    const client = this.#clients.get(name);
    const { remotePort } = socket;
    if (client === undefined) return;
    const connection = new PostgresConnection(
      {
        faultOf: (sql, from) => this.#faultOf(name, sql, from),
        released: () => client.released.promise,
        takesNotification: () => this.#takesNotification(),
      },
      {
        socket: socket.setNoDelay(true),
        upstream: net.connect({ ...client.target, noDelay: true }),
        connection: () => this.#ports.get(name)?.connectionFrom(remotePort),
      },
    );
    this.#connections.add(connection);
    void connection
      .run()
      .catch((error: unknown) => this.#rules.note(error))
      .finally(() => this.#connections.delete(connection));
  }

  #faultOf(
    client: string,
    sql: string,
    { number: connection }: ClientConnection,
  ): { message: SqlMessage; fault: SqlFault | undefined } {
    this.#seq += 1;
    const message: SqlMessage = { seq: this.#seq, client, connection, sql, at: Date.now() };
    this.#messages.push(message);
    return { message, fault: this.#rules.take(message)?.fault };
  }
}

/** Starts the proxy, on the loopback interface. */
export async function startPostgresProxy(): Promise<PostgresProxy> {
  return new FaultyPostgres();
}
