import { randomFillSync } from 'node:crypto';

/** A UUID in its canonical text form, of any version. */
export const UUID_PATTERN = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The UUID before all others, which no object has. */
export const NIL_UUID = '00000000-0000-0000-0000-000000000000';

/** Creation time of a UUID v7 in ms since 1970, by the clock of its creator. null: not a UUID v7. */
export function timeOfUuidv7(id: string): number | null {
  return UUID_PATTERN.test(id) && id[14] === '7'
    ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
    : null;
}

/** The smallest UUID v7 of a time in ms since 1970. UUIDs that are created at that time or later are not smaller. */
export function uuidv7At(time: number): string {
  const digits = Math.max(0, Math.floor(time)).toString(16).padStart(12, '0');
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-000000000000`;
}

const COUNTER_MAX = 0xfff;
/** Random hex digits per id. The digits are generated for many ids at a time. */
const RANDOM_DIGITS = 16;
const bytes = Buffer.alloc((RANDOM_DIGITS / 2) * 128);

let digits = '';
let nextDigit = 0;
let lastMillisecond = 0;
let timeDigits = '';
let counter = 0;

function random(): string {
  if (nextDigit >= digits.length) {
    digits = randomFillSync(bytes).toString('hex');
    nextDigit = 0;
  }
  nextDigit += RANDOM_DIGITS;
  return digits.slice(nextDigit - RANDOM_DIGITS, nextDigit);
}

function setTime(millisecond: number): void {
  lastMillisecond = millisecond;
  const time = millisecond.toString(16).padStart(12, '0');
  timeDigits = `${time.slice(0, 8)}-${time.slice(8)}-7`;
}

/** The variant digit of RFC 9562, by its two random bits. */
const VARIANT = '89ab';

/**
 * A UUID v7 (RFC 9562): milliseconds since 1970, a counter within the millisecond, 62 random bits. The ids are strictly
 * ascending within the process, even when the clock steps back, so that the order of ids is the order of creation.
 */
export function uuidv7(now: number = Date.now()): string {
  const tail = random();
  const start = Number.parseInt(tail.slice(0, 4), 16);
  if (now > lastMillisecond) {
    setTime(now);
    // The counter starts in the lower half of its range, so that the other half is free for ids of the same
    // millisecond.
    counter = start & (COUNTER_MAX >> 1);
  } else if (counter < COUNTER_MAX) {
    counter += 1;
  } else {
    setTime(lastMillisecond + 1);
    counter = 0;
  }
  const sequence = counter.toString(16).padStart(3, '0');
  return `${timeDigits}${sequence}-${VARIANT[start >> 14]}${tail.slice(1, 4)}-${tail.slice(4)}`;
}
