/** Times as text, for answers that have hundreds of them. */

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const SECOND_MS = 1000;

const twoDigits = (number: number) => (number < 10 ? `0${number}` : `${number}`);

let lastDay = Number.NaN;
let lastDate = '';

/**
 * What `toISOString` makes of it. V8 prints each of its parts with C's `printf`, which takes as long as all else about a
 * short text; most times of an answer are of one day.
 * @throws RangeError for an invalid date
 */
export function isoTime(time: Date): string {
  const at = time.getTime();
  const day = Math.floor(at / DAY_MS);
  if (day !== lastDay) {
    const text = time.toISOString();
    lastDate = text.slice(0, text.indexOf('T') + 1);
    lastDay = day;
  }
  const ofDay = at - day * DAY_MS;
  const hours = twoDigits(Math.floor(ofDay / HOUR_MS));
  const minutes = twoDigits(Math.floor((ofDay % HOUR_MS) / MINUTE_MS));
  const seconds = twoDigits(Math.floor((ofDay % MINUTE_MS) / SECOND_MS));
  const ms = ofDay % SECOND_MS;
  return `${lastDate}${hours}:${minutes}:${seconds}.${ms < 100 ? '0' : ''}${twoDigits(ms)}Z`;
}
