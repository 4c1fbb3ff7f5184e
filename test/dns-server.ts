/** A DNS server on loopback, which answers questions for A, AAAA, CNAME and TXT records over UDP (RFC 1035). */
import { createSocket } from 'node:dgram';

const TYPES = { A: 1, CNAME: 5, TXT: 16, AAAA: 28 } as const;
type RecordType = keyof typeof TYPES;

/** Response codes. */
const NO_ERROR = 0;
const SERVER_FAILURE = 2;
const NO_SUCH_NAME = 3;

export interface DnsServer {
  /** `address:port`. */
  readonly address: string;
  /** The questions so far, as `TYPE name`. */
  readonly questions: string[];
  /** Sets the records of a type; an empty list removes them. */
  set(type: RecordType, name: string, values: readonly string[]): void;
  /** How all questions are answered from now on. */
  behave(as: 'normal' | 'silent' | 'failing'): void;
  stop(): Promise<void>;
}

/** The name at an offset of a question, and the offset after it. Questions have no compressed names. */
function readName(message: Buffer, start: number): { name: string; end: number } {
  const labels: string[] = [];
  let at = start;
  for (let size = message[at] ?? 0; size > 0; size = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + size));
    at += 1 + size;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 };
}

function encodeName(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.from([label.length, ...Buffer.from(label)]));
  return Buffer.concat([...labels, Buffer.from([0])]);
}

const groups = (address: string): number[] => {
  const [head = '', tail] = address.split('::');
  const [before, after] = [head, tail ?? ''].map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = tail === undefined ? 0 : 8 - (before?.length ?? 0) - (after?.length ?? 0);
  return [...(before ?? []), ...Array.from({ length: zeros }, () => '0'), ...(after ?? [])].map((group) =>
    Number.parseInt(group, 16),
  );
};

function encodeData(type: RecordType, value: string): Buffer {
  if (type === 'A') return Buffer.from(value.split('.').map(Number));
  if (type === 'AAAA') return Buffer.from(groups(value).flatMap((group) => [group >> 8, group & 0xff]));
  if (type === 'CNAME') return encodeName(value);
  // A text consists of parts of at most 255 bytes.
  const parts = value.match(/.{1,255}/gs) ?? [''];
  return Buffer.concat(parts.map((part) => Buffer.from([part.length, ...Buffer.from(part)])));
}

function encodeRecord(name: string, type: RecordType, value: string): Buffer {
  const data = encodeData(type, value);
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(TYPES[type], 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([encodeName(name), fixed, data]);
}

/** Starts a DNS server on a free port of 127.0.0.1. */
export async function startDnsServer(): Promise<DnsServer> {
  const socket = createSocket('udp4');
  const records = new Map<string, readonly string[]>();
  const questions: string[] = [];
  let mode: 'normal' | 'silent' | 'failing' = 'normal';
  const of = (type: RecordType, name: string) => records.get(`${type} ${name}`) ?? [];
  const isKnown = (name: string) => [...records.keys()].some((key) => key.endsWith(` ${name}`));
  /** The answers, in which a CNAME leads to the records of its target. */
  const answersTo = (type: RecordType, name: string): Buffer[] => {
    const [target] = type === 'CNAME' ? [] : of('CNAME', name);
    if (target !== undefined) return [encodeRecord(name, 'CNAME', target), ...answersTo(type, target)];
    return of(type, name).map((value) => encodeRecord(name, type, value));
  };
  socket.on('message', (message, { port, address }) => {
    const { name, end } = readName(message, 12);
    const number = message.readUInt16BE(end);
    const type = (Object.keys(TYPES) as RecordType[]).find((each) => TYPES[each] === number);
    questions.push(`${type ?? number} ${name}`);
    if (mode === 'silent') return;
    const answers = mode === 'failing' || type === undefined ? [] : answersTo(type, name);
    const code = mode === 'failing' ? SERVER_FAILURE : isKnown(name) ? NO_ERROR : NO_SUCH_NAME;
    const header = Buffer.alloc(12);
    message.copy(header, 0, 0, 2);
    header.writeUInt16BE(0x8180 | code, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(answers.length, 6);
    socket.send(Buffer.concat([header, message.subarray(12, end + 4), ...answers]), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${socket.address().port}`,
    questions,
    set: (type, name, values) => {
      if (values.length === 0) records.delete(`${type} ${name}`);
      else records.set(`${type} ${name}`, values);
    },
    behave: (as) => {
      mode = as;
    },
    stop: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}
