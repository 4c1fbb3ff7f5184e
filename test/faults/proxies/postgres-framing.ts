/** The parts of PostgreSQL's wire protocol, version 3, that a proxy reads. */

/** One message. The first of a client have no type byte: `startup`. */
export interface PgMessage {
  readonly type: string;
  /** As on the wire, whole. */
  readonly bytes: Buffer;
}

/** What a message without a type byte asks for. */
export const STARTUP_CODES = { cancel: 80877102, ssl: 80877103, gss: 80877104 } as const;

/** After these a client has still to introduce itself. */
const ENCRYPTION: readonly number[] = [STARTUP_CODES.ssl, STARTUP_CODES.gss];

const LENGTH_BYTES = 4;

/** Cuts a byte stream into messages, wherever the chunks fall. */
export class MessageReader {
  #chunks: Buffer[] = [];
  #size = 0;
  /** No message is whole before there are so many bytes. */
  #needed = 0;
  #starting: boolean;

  /** @param from `client`: it begins with messages that have no type byte */
  constructor(from: 'client' | 'server') {
    this.#starting = from === 'client';
  }

  /** The messages that are whole now. */
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

  /** Of the message at the beginning; of its head while that is not whole. */
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

/** One of STARTUP_CODES, or the protocol's version. */
export function startupCode(bytes: Buffer): number {
  return bytes.length < 2 * LENGTH_BYTES ? 0 : bytes.readInt32BE(LENGTH_BYTES);
}

/** The texts at the beginning of a message's body, each ended by a zero byte. */
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

/** Names of a connection's prepared statements and portals, so that an execution's text is known. */
export class Statements {
  readonly #statements = new Map<string, string>();
  readonly #portals = new Map<string, string>();

  /** The SQL that this message of the client executes, on one line; undefined: it executes none. */
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

/** Each of these is answered, at last, by one ReadyForQuery: startup, Query, Sync, FunctionCall. */
export function isAnsweredByReady({ type, bytes }: PgMessage): boolean {
  if (type === 'startup') return startupCode(bytes) >> 16 === 3;
  return type === 'Q' || type === 'S' || type === 'F';
}
