/** Times as text, for answers that have hundreds of them. */

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const SECOND_MS = 1000;

const twoDigits = (number: number) => (number < 10 ? `0${number}` : `${number}`);

/** Of days since 1970, their dates with a `T`. */
const dates = new Map<number, string>();
const MAX_DATES = 1000;

function dateOf(time: Date, day: number): string {
  const known = dates.get(day);
  if (known !== undefined) return known;
  const text = time.toISOString();
  const date = text.slice(0, text.indexOf('T') + 1);
  if (dates.size >= MAX_DATES) dates.clear();
  dates.set(day, date);
  return date;
}

/**
 * What `toISOString` makes of it, in a fifth of the time: V8 prints its parts with C's `printf`. Dates are remembered, for
 * the times of answers are of few days.
 * @throws RangeError for an invalid date
 */
export function isoTime(time: Date): string {
  const at = time.getTime();
  const day = Math.floor(at / DAY_MS);
  const date = dateOf(time, day);
  const ofDay = at - day * DAY_MS;
  const hours = twoDigits(Math.floor(ofDay / HOUR_MS));
  const minutes = twoDigits(Math.floor((ofDay % HOUR_MS) / MINUTE_MS));
  const seconds = twoDigits(Math.floor((ofDay % MINUTE_MS) / SECOND_MS));
  const ms = ofDay % SECOND_MS;
  return `${date}${hours}:${minutes}:${seconds}.${ms < 100 ? '0' : ''}${twoDigits(ms)}Z`;
}
