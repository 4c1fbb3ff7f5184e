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

/** What the proxy says to its connections. */
export interface ConnectionHost {
  /** Puts a statement on record, and says what is to happen to it. */
  faultOf(sql: string, connection: ClientConnection): { message: SqlMessage; fault: SqlFault | undefined };
  /** Resolves when statements are held no longer. */
  released(): Promise<void>;
  /** Whether the notification that has come is thrown away; one that is counts as dropped. */
  takesNotification(): boolean;
}

/** Answers that do not go back as they come. */
interface Withheld {
  /** Which ReadyForQuery of the connection ends them, from 1. */
  readonly ready: number;
  readonly message: SqlMessage;
  readonly fault: Extract<SqlFault, { kind: 'lose' | 'after' }>;
  /** How it was answered so far. */
  answer: string;
}

/** The client has to speak before these are followed by more: CopyInResponse, CopyBothResponse. */
const ASKS_FOR_COPY = ['G', 'W'];
const NOTIFICATION = 'A';
const COMMAND_COMPLETE = 'C';
const ERROR = 'E';
const READY_FOR_QUERY = 'Z';

/** The type of a message and its length stand before its text, a zero after it. */
function answerAfter(before: string, type: string, bytes: Buffer): string {
  if (type === ERROR) return '';
  return type === COMMAND_COMPLETE ? bytes.toString('utf8', 5, bytes.length - 1) : before;
}

export class PostgresConnection {
  readonly #host: ConnectionHost;
  readonly #socket: Socket;
  readonly #upstream: Socket;
  /** Known once the client has sent something. */
  readonly #connection: () => ClientConnection | undefined;
  readonly #statements = new Statements();
  /** How many ReadyForQuery were asked for, and have come. */
  #asked = 0;
  #ready = 0;
  #withheld: Withheld[] = [];
  /** Answers of an `after`, until their ReadyForQuery. */
  readonly #kept: Buffer[] = [];
  /** To be written at once. */
  readonly #buffered: Buffer[] = [];
  /** To be told when what is buffered has gone to the client. */
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

  /** Resolves when both ends are closed. @throws RuleFailure */
  async run(): Promise<void> {
    const closed = [this.#socket, this.#upstream].map(
      (socket) => new Promise<void>((resolve) => socket.once('close', () => resolve())),
    );
    // A reset is an error too; the other end is told below.
    for (const socket of [this.#socket, this.#upstream]) socket.on('error', () => undefined);
    const results = await Promise.allSettled([this.#forward(), this.#backward(), ...closed]);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  /** Ends both ends now. */
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
      // In order: PostgreSQL reads all that was sent before, as from a process that was killed.
      this.#upstream.end();
    }
  }

  /** False: nothing more is forwarded. */
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
    if (isAnsweredByReady(message)) this.#asked += 1;
    await write(this.#upstream, message.bytes);
    return true;
  }

  /** What its rule says is done with a statement before it is forwarded. False: it must not be. */
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
        this.#withheld.push({ ready: this.#asked + 1, message, fault, answer: '' });
        return true;
    }
    await untilEndsAreKnown();
    return !gone.aborted;
  }

  async #backward(): Promise<void> {
    const reader = new MessageReader('server');
    try {
      for await (const chunk of chunksOf(this.#upstream)) {
        for (const message of reader.push(chunk)) await this.#giveBack(message);
        await this.#flush();
      }
      this.#socket.end();
    } catch (error) {
      this.#reset();
      throw error;
    }
  }

  async #giveBack({ type, bytes }: PgMessage): Promise<void> {
    if (type === NOTIFICATION && this.#host.takesNotification()) return;
    const isReady = type === READY_FOR_QUERY;
    if (isReady) this.#ready += 1;
    const answering = isReady ? this.#ready : this.#ready + 1;
    const withheld = this.#withheld.filter(({ ready }) => ready === answering);
    if (withheld.length === 0 || ASKS_FOR_COPY.includes(type)) {
      this.#buffered.push(bytes);
      return;
    }
    for (const asked of withheld) asked.answer = answerAfter(asked.answer, type, bytes);
    if (withheld.some(({ fault }) => fault.kind === 'lose')) {
      if (isReady) this.#lose(withheld);
      return;
    }
    this.#kept.push(bytes);
    if (isReady) await this.#giveBackKept(withheld);
  }

  #lose(withheld: readonly Withheld[]): void {
    for (const { fault, message, answer } of withheld) callRule(() => fault.run?.(message, answer));
    this.#reset();
  }

  async #giveBackKept(withheld: readonly Withheld[]): Promise<void> {
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
    // It was handed to the port of the client, which passes it on within some rounds.
    await untilEndsAreKnown();
    const isDelivered = this.#socket.writableLength === 0 && this.#connection()?.gone.aborted === false;
    for (const passedOn of this.#passing.splice(0)) callRule(() => passedOn(isDelivered));
  }

  #reset(): void {
    this.#connection()?.reset();
    this.#socket.destroy();
  }
}

/** Until it ends or breaks; both are the end of what it says. */
async function* chunksOf(socket: Socket): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of socket) yield chunk as Buffer;
  } catch {
    // The peer was killed, or the connection cut.
  }
}

/** Resolves when there is room for more; what the peer does not take any more is dropped. */
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
