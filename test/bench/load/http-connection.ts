/** A keep-alive HTTP/1.1 connection that is as cheap as possible, because load and server share the processors. */
import { connect, type Socket } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');
const LENGTH = /\r\ncontent-length: *(\d+)/i;

/** A response. */
export interface Reply {
  readonly status: number;
  readonly body: Buffer;
}

/** Sends one request after the other. Each waits for the response to the previous one. */
export class HttpConnection {
  readonly #socket: Socket;
  #chunks: Buffer[] = [];
  #received = 0;
  #status = 0;
  /** Bytes of head and body. null until the head is complete. */
  #expected: number | null = null;
  #headLength = 0;
  #waiting: { resolve(reply: Reply): void; reject(error: Error): void } | null = null;

  constructor(url: URL) {
    this.#socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true });
    this.#socket.on('data', (chunk: Buffer) => this.#take(chunk));
    this.#socket.on('error', (error) => this.#fail(error));
    this.#socket.on('close', () => this.#fail(new Error('the server has closed the connection')));
  }

  /** Sends a request. @param request the complete request, including its Content-Length @throws Error if the connection ends */
  send(request: Buffer): Promise<Reply> {
    return new Promise((resolve, reject) => {
      // No event follows if the connection was closed between two requests.
      if (this.#socket.destroyed) return reject(new Error('the server has closed the connection'));
      this.#waiting = { resolve, reject };
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#waiting = null;
    this.#socket.destroy();
  }

  #fail(error: Error): void {
    this.#waiting?.reject(error);
    this.#waiting = null;
  }

  #take(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#received += chunk.length;
    if (this.#expected === null) this.#readHead();
    if (this.#expected === null || this.#received < this.#expected) return;
    const body = Buffer.concat(this.#chunks).subarray(this.#headLength, this.#expected);
    const waiting = this.#waiting;
    const status = this.#status;
    this.#chunks = [];
    this.#received = 0;
    this.#expected = null;
    this.#waiting = null;
    waiting?.resolve({ status, body });
  }

  #readHead(): void {
    const whole = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks);
    const end = whole?.indexOf(HEAD_END) ?? -1;
    if (whole === undefined || end < 0) return;
    const head = whole.toString('latin1', 0, end);
    const length = LENGTH.exec(head)?.[1];
    this.#status = Number(head.slice(9, 12));
    this.#headLength = end + HEAD_END.length;
    if (length === undefined && this.#status !== 204)
      this.#fail(new Error('the response has no Content-Length'));
    this.#expected = this.#headLength + Number(length ?? 0);
  }
}
