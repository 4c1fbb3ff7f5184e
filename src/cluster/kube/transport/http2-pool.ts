import http2, { type ClientHttp2Session, type ClientHttp2Stream, type OutgoingHttpHeaders } from 'node:http2';
import { KubeError } from '../client/errors.ts';
import type { Http2Options } from './http2.ts';

const MIB = 1024 * 1024;
/** Node's 64 KiB windows make a large list wait for the round trip every 64 KiB. */
const STREAM_WINDOW = 4 * MIB;
const CONNECTION_WINDOW = 16 * MIB;
/** Node refuses new streams above this; its default of 10 MB is less than our windows. */
const MAX_SESSION_MEMORY_MB = 256;
const PING_INTERVAL_MS = 10_000;
const PING_TIMEOUT_MS = 5_000;
const SETTINGS_TIMEOUT_MS = 10_000;

/**
 * HTTP/2 sessions to one server, opened when needed and again after they ended.
 *
 * One session, unless streams stay open for long (`spread`): an API server allows 100 at once on a session, and the
 * 101st watch would wait for ever, so each hundred gets a session of its own.
 *
 * GOAWAY: the session finishes what it has and new requests get a new one (an API server behind a load balancer sends
 * it to spread connections, and on shutdown). Pings find a connection that swallows everything within
 * `pingIntervalMs + 2 * pingTimeoutMs`; all its requests then fail at once instead of each waiting for its own deadline.
 */
export class Http2Pool {
  readonly #options: Http2Options & { spread: boolean };
  /** Sessions that take requests, with the count of their open streams. */
  readonly #ready = new Map<ClientHttp2Session, number>();
  /** Also those that said goodbye and still have streams. */
  readonly #open = new Set<ClientHttp2Session>();
  /** Those whose answer to a ping has not come yet. */
  readonly #pinged = new Set<ClientHttp2Session>();
  #opening: Promise<void> | undefined;
  #closed = false;

  constructor(options: Http2Options & { spread: boolean }) {
    this.#options = options;
  }

  /** Opens a stream on a session that has room; undefined when there is none: `grow`, then try again. */
  request(headers: OutgoingHttpHeaders, endStream: boolean): ClientHttp2Stream | undefined {
    for (const [session, streams] of this.#ready) {
      const most = session.remoteSettings.maxConcurrentStreams ?? Number.POSITIVE_INFINITY;
      if (session.closed || session.destroyed || (this.#options.spread && streams >= most)) continue;
      const stream = session.request(headers, { endStream });
      this.#ready.set(session, streams + 1);
      stream.once('close', () => {
        const now = this.#ready.get(session);
        if (now !== undefined) this.#ready.set(session, now - 1);
      });
      return stream;
    }
    return undefined;
  }

  /** One session more; asked for by many at once, one. Fails with whatever opening the connection fails with. */
  grow(): Promise<void> {
    this.#opening ??= this.#openSession().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /** Pings every session now; one that does not answer in time, and from which nothing else comes, is destroyed. */
  check(): void {
    for (const session of this.#open) this.#ping(session);
  }

  /** New requests get new sessions; those under way finish on the old ones. */
  renew(): void {
    for (const session of this.#ready.keys()) session.close();
    this.#ready.clear();
  }

  close(): void {
    this.#closed = true;
    for (const session of this.#open) session.destroy();
  }

  async #openSession(): Promise<void> {
    const socket = this.#closed ? undefined : await this.#options.connect();
    if (socket === undefined || this.#closed) {
      socket?.destroy();
      throw new KubeError({ kind: 'aborted', message: 'failed to connect: the client is closed' });
    }
    const session = http2.connect(this.#options.server, {
      createConnection: () => socket,
      maxSessionMemory: MAX_SESSION_MEMORY_MB,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW },
    });
    this.#open.add(session);
    const pings = setInterval(() => this.#ping(session), this.#options.pingIntervalMs ?? PING_INTERVAL_MS);
    pings.unref();
    const retire = () => this.#ready.delete(session);
    session.once('connect', () => session.setLocalWindowSize(CONNECTION_WINDOW));
    session.on('goaway', retire);
    // Its streams get the error too, and through them the callers; without a listener here it would end the process.
    session.on('error', retire);
    session.once('close', () => {
      clearInterval(pings);
      this.#open.delete(session);
      retire();
    });
    await settled(session);
    this.#ready.set(session, 0);
  }

  #ping(session: ClientHttp2Session): void {
    if (session.destroyed || session.connecting || this.#pinged.has(session)) return;
    this.#pinged.add(session);
    let answered = false;
    let received = session.socket.bytesRead;
    const giveUp = () => {
      // One that is destroyed has no socket any more.
      if (answered || session.destroyed) return;
      const before = received;
      received = session.socket.bytesRead;
      // The answer stands behind all that was sent before it: up to a window of a list, which a full machine takes long to read.
      if (received > before) timer = later();
      else session.destroy(new Error('the connection is dead: no answer to a ping'));
    };
    // After a long pause of this process the timer runs before the answer is read: first look what has arrived.
    const onTimeout = () => setImmediate(() => setImmediate(giveUp));
    const later = () => setTimeout(onTimeout, this.#options.pingTimeoutMs ?? PING_TIMEOUT_MS).unref();
    let timer = later();
    const stop = () => {
      answered = true;
      this.#pinged.delete(session);
      clearTimeout(timer);
      session.removeListener('close', stop);
    };
    session.once('close', stop);
    if (!session.ping(stop)) stop();
  }
}

/** Waits for the server's settings: from then on it is known how many streams it allows. */
function settled(session: ClientHttp2Session): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) =>
      reject(new KubeError({ kind: 'network', message: `no connection: ${error.message}`, cause: error }));
    const timer = setTimeout(
      () => session.destroy(new Error(`no HTTP/2 settings within ${SETTINGS_TIMEOUT_MS} ms`)),
      SETTINGS_TIMEOUT_MS,
    );
    session.once('remoteSettings', () => resolve());
    session.once('error', fail);
    session.once('close', () => fail(new Error('the connection was closed')));
    session.once('remoteSettings', () => clearTimeout(timer));
    session.once('close', () => clearTimeout(timer));
  });
}
