import http2, { type ClientHttp2Session, type ClientHttp2Stream, type OutgoingHttpHeaders } from 'node:http2';
import { KubeError } from '../client/errors.ts';
import type { Http2Options } from './http2.ts';

const MIB = 1024 * 1024;
/** With Node's window of 64 KiB, a large list waits for a round trip after every 64 KiB. */
const STREAM_WINDOW = 4 * MIB;
const CONNECTION_WINDOW = 16 * MIB;
/** Node refuses new streams above this limit. Its default of 10 MB is less than the windows. */
const MAX_SESSION_MEMORY_MB = 256;
const PING_INTERVAL_MS = 10_000;
const PING_TIMEOUT_MS = 5_000;
/** Number of parts of the timeout of a ping. */
const PING_PARTS = 10;
const SETTINGS_TIMEOUT_MS = 10_000;

/**
 * HTTP/2 sessions to one server. A session is opened when a request needs it.
 *
 * Calls share one session. Watches stay open (`spread`), and an API server allows about 100 streams on a session. The
 * next watch would wait forever, so the pool opens another session for it.
 *
 * After a GOAWAY, the session finishes its requests, and new requests use a new session. An API server sends GOAWAY on
 * shutdown and, behind a load balancer, to spread connections. Pings detect a connection that receives nothing within
 * `pingIntervalMs + 2 * pingTimeoutMs`. All its requests then fail at once, before their own deadlines. Time in which
 * this process stands still does not count.
 */
export class Http2Pool {
  readonly #options: Http2Options & { spread: boolean };
  /** Sessions that accept requests, with the number of their open streams. */
  readonly #ready = new Map<ClientHttp2Session, number>();
  /** All sessions, including those that finish their streams after a GOAWAY. */
  readonly #open = new Set<ClientHttp2Session>();
  /** Sessions with an unacknowledged ping. */
  readonly #pinged = new Set<ClientHttp2Session>();
  #opening: Promise<void> | undefined;
  #closed = false;

  constructor(options: Http2Options & { spread: boolean }) {
    this.#options = options;
  }

  /** Opens a stream. The result is undefined if no session has room: call `grow`, then try again. */
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

  /** Opens another session. Concurrent calls share one attempt. Fails with the error of `connect`. */
  grow(): Promise<void> {
    this.#opening ??= this.#openSession().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /** Pings every session now. A session that receives nothing in time is destroyed. */
  check(): void {
    for (const session of this.#open) this.#ping(session);
  }

  /** New requests use new sessions. Current requests finish on the former ones. */
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
    // The callers get the error from their streams. Without a listener, the error would end the process.
    session.on('error', retire);
    session.once('close', () => {
      clearInterval(pings);
      this.#open.delete(session);
      retire();
    });
    await settled(session);
    this.#ready.set(session, 0);
  }

  /**
   * The timeout has parts, and a pause of this process uses up one part. Otherwise a pause could use up the whole
   * timeout before the ping is written to the socket, or before the response is read.
   */
  #ping(session: ClientHttp2Session): void {
    if (session.destroyed || session.connecting || this.#pinged.has(session)) return;
    this.#pinged.add(session);
    const partMs = (this.#options.pingTimeoutMs ?? PING_TIMEOUT_MS) / PING_PARTS;
    let answered = false;
    let silentParts = 0;
    let received = session.socket.bytesRead;
    const endPart = () => {
      // A destroyed session has no socket.
      if (answered || session.destroyed) return;
      const before = received;
      received = session.socket.bytesRead;
      // The acknowledgement follows data that was sent before it, up to a window. A busy machine reads it slowly.
      silentParts = received > before ? 0 : silentParts + 1;
      if (silentParts < PING_PARTS) timer = beginPart();
      else session.destroy(new Error('the connection is dead: no answer to a ping'));
    };
    // After a pause of this process, the timer runs before received data is read. Read it first.
    const onTimeout = () => setImmediate(() => setImmediate(endPart));
    const beginPart = () => setTimeout(onTimeout, partMs).unref();
    let timer = beginPart();
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

/** Waits for the server's settings, which contain the allowed number of streams. */
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
