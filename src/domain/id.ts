import { randomFillSync } from 'node:crypto';

/** A UUID in its canonical text form, of any version. */
export const UUID_PATTERN = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** When a UUID v7 was made, in ms since 1970, by the clock of who made it; null: it is none. */
export function timeOfUuidv7(id: string): number | null {
  return UUID_PATTERN.test(id) && id[14] === '7'
    ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
    : null;
}

/** The least UUID v7 of a time, in ms since 1970: every one that was made then or later is not less. */
export function uuidv7At(time: number): string {
  const digits = Math.max(0, Math.floor(time)).toString(16).padStart(12, '0');
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-000000000000`;
}

const COUNTER_MAX = 0xfff;
const RANDOM_BYTES = 8;
const pool = Buffer.alloc(RANDOM_BYTES * 128);

let poolOffset = pool.length;
let lastMillisecond = 0;
let counter = 0;

function random(): Buffer {
  if (poolOffset === pool.length) {
    randomFillSync(pool);
    poolOffset = 0;
  }
  poolOffset += RANDOM_BYTES;
  return pool.subarray(poolOffset - RANDOM_BYTES, poolOffset);
}

/**
 * A UUID v7 (RFC 9562): milliseconds since 1970, a counter within the millisecond, 62 random bits.
 * Strictly ascending within the process, also when the clock steps back; sorting by id is sorting by creation.
 */
export function uuidv7(now: number = Date.now()): string {
  const bytes = random();
  if (now > lastMillisecond) {
    lastMillisecond = now;
    // Half of the counter's range stays free for ids of the same millisecond.
    counter = bytes.readUInt16BE(0) & (COUNTER_MAX >> 1);
  } else if (counter < COUNTER_MAX) {
    counter += 1;
  } else {
    lastMillisecond += 1;
    counter = 0;
  }
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x80;
  const time = lastMillisecond.toString(16).padStart(12, '0');
  const tail = bytes.toString('hex');
  const sequence = counter.toString(16).padStart(3, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${sequence}-${tail.slice(0, 4)}-${tail.slice(4)}`;
}
