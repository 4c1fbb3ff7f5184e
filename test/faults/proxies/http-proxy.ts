/** A proxy in front of an HTTP server: client ports, rules, exchanges. */
import type { Agent, IncomingMessage, ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';
import { type ClientPort, ClientPorts, close, untilEndsAreKnown } from './client-port.ts';
import { HttpExchange, type Upstream } from './http-exchange.ts';
import type { HttpOutcome, HttpRequest } from './http-traffic.ts';
import { type Rule, RuleBook, type RuleFailure, type RuleInForce } from './rules.ts';

type Handler = (incoming: IncomingMessage, response: ServerResponse) => void;

interface Client {
  readonly server: Server;
  readonly port: Promise<ClientPort>;
  upstream: Upstream;
}

/** Common parts of the proxies in front of API server and hub. */
export abstract class HttpProxy<R extends HttpRequest, F> {
  readonly #ports = new ClientPorts();
  readonly #rules = new RuleBook<R, F>();
  readonly #clients = new Map<string, Client>();
  readonly #agents = new Set<Agent>();
  #exchanges: (R & HttpOutcome)[] = [];
  #seq = 0;

  /** Creates the server for the connections of a client, plain or with TLS. */
  protected abstract createServer(handler: Handler): Server;

  /** Adds what the request means to the server behind the proxy. */
  protected abstract describe(request: HttpRequest, headers: IncomingMessage['headers']): R;

  /** Completes an exchange. @param rule the rule that applies to it */
  protected abstract serve(exchange: HttpExchange<R>, rule: RuleInForce<R, F> | undefined): Promise<void>;

  add(rule: Rule<R, F>): RuleInForce<R, F> {
    return this.#rules.add(rule);
  }

  blackhole(client?: string): void {
    this.#ports.set('blackhole', client);
  }

  cut(client?: string): void {
    this.#ports.set('cut', client);
  }

  open(client?: string): void {
    this.#ports.set('open', client);
  }

  connections(client?: string): number {
    return this.#ports.connections(client);
  }

  upstreamRequests(): number {
    return [...this.#agents].flatMap(({ sockets }) => Object.values(sockets)).flat().length;
  }

  /** The port of this client, which the first call opens. New requests go to `upstream`. */
  protected async portFor(client: string, upstream: Upstream): Promise<number> {
    // Earlier requests keep their previous upstream.
    this.#agents.add(upstream.agent);
    let known = this.#clients.get(client);
    if (known === undefined) {
      const server = this.createServer((incoming, response) => {
        void this.#handle(client, incoming, response);
      });
      server.on('secureConnection', (socket: Socket) => this.#endWithClient(client, socket));
      known = { server, upstream, port: this.#ports.add(client, server) };
      this.#clients.set(client, known);
    }
    known.upstream = upstream;
    return (await known.port).port;
  }

  exchanges(client?: string): readonly (R & HttpOutcome)[] {
    return client === undefined
      ? [...this.#exchanges]
      : this.#exchanges.filter((exchange) => exchange.client === client);
  }

  clear(): void {
    this.#exchanges = [];
  }

  takeFailures(): RuleFailure[] {
    return this.#rules.takeFailures();
  }

  /** @throws AggregateError with the errors of rules that were not taken */
  async stop(): Promise<void> {
    await this.#ports.stop();
    for (const agent of this.#agents) agent.destroy();
    await Promise.all([...this.#clients.values()].map(({ server }) => close(server)));
    this.#rules.assertPlayed();
  }

  /** Closes an HTTP/2 session together with its client. A session with unsent data would never end by itself. */
  #endWithClient(client: string, socket: Socket): void {
    const connection = this.#ports.get(client)?.connectionFrom(socket.remotePort);
    // The last bytes of the client are read first.
    const end = () => void untilEndsAreKnown().then(() => socket.destroy());
    connection?.gone.addEventListener('abort', end, { once: true });
  }

  async #handle(client: string, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const seq = ++this.#seq;
    const at = Date.now();
    const connection = this.#ports.get(client)?.connectionFrom(incoming.socket.remotePort);
    const upstream = this.#clients.get(client)?.upstream;
    // A client that disconnects breaks its streams. The exchange notices this by itself.
    for (const stream of [incoming, response]) stream.on('error', () => undefined);
    const body = await readWhole(incoming);
    if (body === undefined || connection === undefined || upstream === undefined) return;
    const { method = 'GET', url = '/', headers } = incoming;
    const base: HttpRequest = { seq, client, method, path: url, at, body: parsed(body) };
    const request = this.describe(base, headers);
    const note = (record: R & HttpOutcome) => void this.#exchanges.push(record);
    const exchange = new HttpExchange<R>({ request, incoming, response, body, connection, upstream, note });
    try {
      await this.serve(exchange, this.#rules.take(request));
    } catch (error) {
      this.#rules.note(error);
      exchange.reset();
    }
  }
}

/** The body. Undefined if the client has disconnected. */
async function readWhole(incoming: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
  } catch {
    return undefined;
  }
  return incoming.aborted ? undefined : Buffer.concat(chunks);
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
