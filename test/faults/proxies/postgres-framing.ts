/** The parts of PostgreSQL's wire protocol, version 3, that a proxy reads. */

/** One message. The first messages of a client have no type byte, and the type `startup`. */
export interface PgMessage {
  readonly type: string;
  /** The complete message, including type and length. */
  readonly bytes: Buffer;
}

/** Codes of messages without a type byte. */
export const STARTUP_CODES = { cancel: 80877102, ssl: 80877103, gss: 80877104 } as const;

/** After one of these messages, another startup message follows. */
const ENCRYPTION: readonly number[] = [STARTUP_CODES.ssl, STARTUP_CODES.gss];

const LENGTH_BYTES = 4;

/** Splits a byte stream into messages, regardless of the boundaries of chunks. */
export class MessageReader {
  #chunks: Buffer[] = [];
  #size = 0;
  /** Number of bytes that the next complete message needs at least. */
  #needed = 0;
  #starting: boolean;

  /** @param from for `client`, the stream begins with messages without a type byte */
  constructor(from: 'client' | 'server') {
    this.#starting = from === 'client';
  }

  /** Adds a chunk, and returns the messages that are now complete. */
  push(chunk: Buffer): PgMessage[] {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    const messages: PgMessage[] = [];
    if (this.#size < this.#needed) return messages;
    let rest = Buffer.concat(this.#chunks, this.#size);
    for (let length = this.#lengthOf(rest); rest.length >= length; length = this.#lengthOf(rest)) {
      messages.push(this.#message(rest.subarray(0, length)));
      rest = rest.subarray(length);
    }
    this.#chunks = [rest];
    this.#size = rest.length;
    this.#needed = this.#lengthOf(rest);
    return messages;
  }

  /** Length of the first message. Length of its header while the header is incomplete. */
  #lengthOf(bytes: Buffer): number {
    const before = this.#starting ? 0 : 1;
    const head = before + LENGTH_BYTES;
    return bytes.length < head ? head : Math.max(before + bytes.readInt32BE(before), head);
  }

  #message(bytes: Buffer): PgMessage {
    if (!this.#starting) return { type: String.fromCharCode(bytes[0] ?? 0), bytes };
    this.#starting = ENCRYPTION.includes(startupCode(bytes));
    return { type: 'startup', bytes };
  }
}

/** The code of a startup message: one of STARTUP_CODES, or the protocol version. */
export function startupCode(bytes: Buffer): number {
  return bytes.length < 2 * LENGTH_BYTES ? 0 : bytes.readInt32BE(LENGTH_BYTES);
}

/** The first `count` zero-terminated texts from this offset. */
function texts(bytes: Buffer, offset: number, count: number): string[] {
  const found: string[] = [];
  let start = offset;
  while (found.length < count) {
    const end = bytes.indexOf(0, start);
    found.push(bytes.toString('utf8', start, end < 0 ? bytes.length : end));
    start = end < 0 ? bytes.length : end + 1;
  }
  return found;
}

const BODY = 1 + LENGTH_BYTES;

/** Prepared statements and portals of a connection, to find the SQL text of an execution. */
export class Statements {
  readonly #statements = new Map<string, string>();
  readonly #portals = new Map<string, string>();

  /** The SQL that this message executes, on one line. Undefined if it executes nothing. */
  executedBy({ type, bytes }: PgMessage): string | undefined {
    const [first = '', second = ''] = texts(bytes, BODY, 2);
    switch (type) {
      case 'Q':
        return oneLine(first);
      case 'E':
        return this.#portals.get(first) ?? '';
      case 'P':
        this.#statements.set(first, oneLine(second));
        return undefined;
      case 'B':
        this.#portals.set(first, this.#statements.get(second) ?? '');
        return undefined;
      case 'C':
        (first.startsWith('S') ? this.#statements : this.#portals).delete(first.slice(1));
        return undefined;
      default:
        return undefined;
    }
  }
}

function oneLine(sql: string): string {
  return sql.replace(/\s+/g, ' ').trim();
}

/** Whether the message is answered by one ReadyForQuery at the end: startup, Query, Sync, FunctionCall. */
export function isAnsweredByReady({ type, bytes }: PgMessage): boolean {
  if (type === 'startup') return startupCode(bytes) >> 16 === 3;
  return type === 'Q' || type === 'S' || type === 'F';
}
