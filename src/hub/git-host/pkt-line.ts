/** The lines of git's protocols (gitprotocol-common): four hexadecimal digits of length, themselves included, then the data. */

/** `flush` ends a message, `delimiter` a part of it. */
export type Packet = Buffer | 'flush' | 'delimiter';

const LENGTH_BYTES = 4;
const MAX_LENGTH = 65_520;
const SPECIAL: Readonly<Record<number, 'flush' | 'delimiter' | 'end'>> = {
  0: 'flush',
  1: 'delimiter',
  2: 'end',
};

/** A line feed is added, as the specification wishes. */
export function packet(text: string): Buffer {
  const data = Buffer.from(`${text}\n`);
  const length = data.length + LENGTH_BYTES;
  if (length > MAX_LENGTH) throw new RangeError('failed to make a packet: it is too long');
  return Buffer.concat([Buffer.from(length.toString(16).padStart(LENGTH_BYTES, '0')), data]);
}

export const FLUSH: Buffer = Buffer.from('0000');
export const DELIMITER: Buffer = Buffer.from('0001');

/**
 * The packets of an answer; null: it holds something else.
 */
export function packetsOf(answer: Buffer): Packet[] | null {
  const packets: Packet[] = [];
  for (let at = 0; at < answer.length; ) {
    const digits = answer.toString('latin1', at, at + LENGTH_BYTES);
    if (!/^[0-9a-f]{4}$/i.test(digits)) return null;
    const length = Number.parseInt(digits, 16);
    const special = SPECIAL[length];
    if (special === undefined) {
      if (length < LENGTH_BYTES || at + length > answer.length) return null;
      packets.push(answer.subarray(at + LENGTH_BYTES, at + length));
      at += length;
      continue;
    }
    if (special !== 'end') packets.push(special);
    at += LENGTH_BYTES;
  }
  return packets;
}

/** The text of a packet, without the line feed at its end; null: it is none. */
export function textOf(packet: Packet | undefined): string | null {
  if (!Buffer.isBuffer(packet)) return null;
  return packet.toString('utf8').replace(/\n$/, '');
}
