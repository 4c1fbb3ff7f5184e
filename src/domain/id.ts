import { randomFillSync } from 'node:crypto';

/** A UUID in its canonical text form, of any version. */
export const UUID_PATTERN = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

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
