/** One connection of a client to PostgreSQL, message by message. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type ClientConnection, untilEndsAreKnown } from './client-port.ts';
import {
  isAnsweredByReady,
  MessageReader,
  type PgMessage,
  STARTUP_CODES,
  Statements,
  startupCode,
} from './postgres-framing.ts';
import type { SqlFault, SqlMessage } from './postgres-traffic.ts';
import { callRule } from './rules.ts';

/** The functions of the proxy that a connection uses. */
export interface ConnectionHost {
  /** Records a statement, and returns the fault that applies to it. */
  faultOf(sql: string, connection: ClientConnection): { message: SqlMessage; fault: SqlFault | undefined };
  /** Resolves when held statements are released. */
  released(): Promise<void>;
  /** Whether the notification is to be dropped. Counts dropped notifications. */
  takesNotification(): boolean;
}

/** A statement whose response is discarded or delayed. */
interface Withheld {
  /** Number of the ReadyForQuery of the connection that ends the response, from 1. */
  readonly ready: number;
  readonly message: SqlMessage;
  readonly fault: Extract<SqlFault, { kind: 'lose' | 'after' }>;
  /** The command tag received so far. */
  answer: string;
}

/** Messages after which the client has to send data first: CopyInResponse, CopyBothResponse. */
const ASKS_FOR_COPY = ['G', 'W'];
const NOTIFICATION = 'A';
const COMMAND_COMPLETE = 'C';
const ERROR = 'E';
const READY_FOR_QUERY = 'Z';

/** The command tag after one more message. In a message, its type and length precede the text, and a zero byte follows. */
function answerAfter(before: string, type: string, bytes: Buffer): string {
  if (type === ERROR) return '';
  return type === COMMAND_COMPLETE ? bytes.toString('utf8', 5, bytes.length - 1) : before;
}

export class PostgresConnection {
  readonly #host: ConnectionHost;
  readonly #socket: Socket;
  readonly #upstream: Socket;
  /** Undefined until the client has sent something. */
  readonly #connection: () => ClientConnection | undefined;
  readonly #statements = new Statements();
  /** How many ReadyForQuery messages are expected in total, and how many have arrived. */
  #expected = 0;
  #ready = 0;
  #withheld: Withheld[] = [];
  /** The response to a statement with the fault `after`, until its ReadyForQuery. */
  readonly #kept: Buffer[] = [];
  /** Bytes to be written together. */
  readonly #buffered: Buffer[] = [];
  /** Functions to call when the buffered bytes were sent to the client. */
  readonly #passing: ((isDelivered: boolean) => void)[] = [];

  constructor(
    host: ConnectionHost,
    sockets: { socket: Socket; upstream: Socket; connection: () => ClientConnection | undefined },
  ) {
    this.#host = host;
    this.#socket = sockets.socket;
    this.#upstream = sockets.upstream;
    this.#connection = sockets.connection;
  }

  /** Forwards messages in both directions, and resolves when both ends are closed. @throws RuleFailure */
  async run(): Promise<void> {
    const closed = [this.#socket, this.#upstream].map(
      (socket) => new Promise<void>((resolve) => socket.once('close', () => resolve())),
    );
    // A reset is reported as an error too. The other end is closed below.
    for (const socket of [this.#socket, this.#upstream]) socket.on('error', () => undefined);
    const results = await Promise.allSettled([this.#forward(), this.#backward(), ...closed]);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  /** Closes both ends immediately. */
  destroy(): void {
    this.#socket.destroy();
    this.#upstream.destroy();
  }

  async #forward(): Promise<void> {
    const reader = new MessageReader('client');
    try {
      for await (const chunk of chunksOf(this.#socket))
        for (const message of reader.push(chunk)) if (!(await this.#take(message))) return;
    } catch (error) {
      this.#reset();
      throw error;
    } finally {
      // PostgreSQL reads all bytes that were sent before, as if the client process was killed.
      this.#upstream.end();
    }
  }

  /** Forwards a message. False if no more messages may be forwarded. */
  async #take(message: PgMessage): Promise<boolean> {
    if (message.type === 'startup') {
      const code = startupCode(message.bytes);
      if (code === STARTUP_CODES.ssl || code === STARTUP_CODES.gss) {
        this.#socket.write('N');
        return true;
      }
    }
    const sql = this.#statements.executedBy(message);
    const connection = this.#connection();
    if (connection === undefined) return false;
    if (sql !== undefined && !(await this.#play(sql, connection))) return false;
    if (isAnsweredByReady(message)) this.#expected += 1;
    await write(this.#upstream, message.bytes);
    return true;
  }

  /** Applies the fault of a statement before it is forwarded. False if it must not be forwarded. */
  async #play(sql: string, connection: ClientConnection): Promise<boolean> {
    const { message, fault } = this.#host.faultOf(sql, connection);
    const { gone } = connection;
    switch (fault?.kind) {
      case undefined:
        return true;
      case 'delay':
        await delay(fault.ms, undefined, { signal: gone }).catch(() => undefined);
        break;
      case 'refuse':
        this.#reset();
        return false;
      case 'hold':
        await Promise.race([this.#host.released(), aborted(gone)]);
        break;
      case 'before':
        await callRule(() => fault.run(message));
        break;
      case 'lose':
      case 'after':
        this.#withheld.push({ ready: this.#expected + 1, message, fault, answer: '' });
        return true;
    }
    await untilEndsAreKnown();
    return !gone.aborted;
  }

  async #backward(): Promise<void> {
    const reader = new MessageReader('server');
    try {
      for await (const chunk of chunksOf(this.#upstream)) {
        for (const message of reader.push(chunk)) await this.#return(message);
        await this.#flush();
      }
      this.#socket.end();
    } catch (error) {
      this.#reset();
      throw error;
    }
  }

  async #return({ type, bytes }: PgMessage): Promise<void> {
    if (type === NOTIFICATION && this.#host.takesNotification()) return;
    const isReady = type === READY_FOR_QUERY;
    if (isReady) this.#ready += 1;
    const answering = isReady ? this.#ready : this.#ready + 1;
    const withheld = this.#withheld.filter(({ ready }) => ready === answering);
    if (withheld.length === 0 || ASKS_FOR_COPY.includes(type)) {
      this.#buffered.push(bytes);
      return;
    }
    for (const each of withheld) each.answer = answerAfter(each.answer, type, bytes);
    if (withheld.some(({ fault }) => fault.kind === 'lose')) {
      if (isReady) this.#lose(withheld);
      return;
    }
    this.#kept.push(bytes);
    if (isReady) await this.#returnKept(withheld);
  }

  #lose(withheld: readonly Withheld[]): void {
    for (const { fault, message, answer } of withheld) callRule(() => fault.run?.(message, answer));
    this.#reset();
  }

  async #returnKept(withheld: readonly Withheld[]): Promise<void> {
    for (const { fault, message, answer } of withheld) {
      await callRule(() => fault.run?.(message, answer));
      if (fault.kind === 'after' && fault.passedOn !== undefined) this.#passing.push(fault.passedOn);
    }
    this.#withheld = this.#withheld.filter((each) => !withheld.includes(each));
    this.#buffered.push(...this.#kept.splice(0));
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.concat(this.#buffered.splice(0));
    if (bytes.length > 0) await write(this.#socket, bytes);
    if (this.#passing.length === 0) return;
    // The port of the client forwards the bytes within a few iterations of the event loop.
    await untilEndsAreKnown();
    const isDelivered = this.#socket.writableLength === 0 && this.#connection()?.gone.aborted === false;
    for (const passedOn of this.#passing.splice(0)) callRule(() => passedOn(isDelivered));
  }

  #reset(): void {
    this.#connection()?.reset();
    this.#socket.destroy();
  }
}

/** The chunks of a socket until it ends or breaks. An error also ends the sequence. */
async function* chunksOf(socket: Socket): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of socket) yield chunk as Buffer;
  } catch {
    // The peer was killed, or the connection cut.
  }
}

/** Writes, and resolves when there is room for more. Bytes for a closed socket are dropped. */
async function write(socket: Socket, bytes: Buffer): Promise<void> {
  if (!socket.writable || socket.write(bytes)) return;
  const closed = new AbortController();
  const onClose = () => closed.abort();
  socket.once('close', onClose);
  await once(socket, 'drain', { signal: closed.signal }).catch(() => undefined);
  socket.removeListener('close', onClose);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
