/** A proxy in front of PostgreSQL that records statements and their values. */

import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';
import { listen } from '../../faults/proxies/client-port.ts';

/** A value of a statement: text, bytes, or null. */
export type SentValue = string | Buffer | null;

/** A recorded statement. */
export interface SentStatement {
  readonly text: string;
  /** null for a simple query, which has no values and may contain several statements. */
  readonly values: readonly SentValue[] | null;
  /** Whether the statement is prepared with a name, so that the server parses it once per connection. */
  readonly named: boolean;
}

/** A running proxy. */
export interface StatementRecorder {
  /** URL of the database through the proxy. */
  readonly url: string;
  /** The statements since the last call, in order. */
  take(): SentStatement[];
  stop(): Promise<void>;
}

/** Types of messages of a client. */
const QUERY = 0x51;
const PARSE = 0x50;
const BIND = 0x42;
const TYPE_BYTES = 1;
const LENGTH_BYTES = 4;
const NULL_LENGTH = -1;

class Fields {
  #at = 0;
  readonly #bytes: Buffer;
  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }
  text(): string {
    const end = this.#bytes.indexOf(0, this.#at);
    const text = this.#bytes.toString('utf8', this.#at, end);
    this.#at = end + 1;
    return text;
  }
  int16(): number {
    this.#at += 2;
    return this.#bytes.readInt16BE(this.#at - 2);
  }
  int32(): number {
    this.#at += 4;
    return this.#bytes.readInt32BE(this.#at - 4);
  }
  bytes(length: number): Buffer {
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}

/** Returns a function that parses the bytes of one connection. */
function messageReader(note: (statement: SentStatement) => void): (chunk: Buffer) => void {
  const texts = new Map<string, string>();
  let rest: Buffer = Buffer.alloc(0);
  // The startup message has no type byte.
  let started = false;

  const bind = (fields: Fields) => {
    fields.text();
    const name = fields.text();
    const formats = Array.from({ length: fields.int16() }, () => fields.int16());
    const values = Array.from({ length: fields.int16() }, (_, index): SentValue => {
      const length = fields.int32();
      if (length === NULL_LENGTH) return null;
      const bytes = Buffer.from(fields.bytes(length));
      const format = formats.length === 1 ? formats[0] : (formats[index] ?? 0);
      return format === 1 ? bytes : bytes.toString('utf8');
    });
    note({ text: texts.get(name) ?? '', values, named: name !== '' });
  };

  const read = (type: number, fields: Fields) => {
    if (type === QUERY) note({ text: fields.text(), values: null, named: false });
    if (type === PARSE) texts.set(fields.text(), fields.text());
    if (type === BIND) bind(fields);
  };

  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const typeBytes = started ? TYPE_BYTES : 0;
      if (rest.length < typeBytes + LENGTH_BYTES) return;
      const end = typeBytes + rest.readInt32BE(typeBytes);
      if (rest.length < end) return;
      if (started) read(rest[0] ?? 0, new Fields(rest.subarray(typeBytes + LENGTH_BYTES, end)));
      started = true;
      rest = rest.subarray(end);
    }
  };
}

/** Starts the proxy on the loopback interface. It does not support TLS. */
export async function recordStatements(databaseUrl: string): Promise<StatementRecorder> {
  const target = new URL(databaseUrl);
  let sent: SentStatement[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const backend = connect({ host: target.hostname, port: Number(target.port), noDelay: true });
    const read = messageReader((statement) => sent.push(statement));
    client.setNoDelay(true);
    for (const [from, to] of [
      [client, backend],
      [backend, client],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk: Buffer) => {
        if (from === client) read(chunk);
        to.write(chunk);
      });
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  await listen(server);
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.toString(),
    take() {
      const taken = sent;
      sent = [];
      return taken;
    },
    stop() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
