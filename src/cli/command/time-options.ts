import type { Option } from 'commander';
import { valueOption } from './command.ts';
import { UsageError } from './usage-error.ts';

/** Options that name a time: a time of ISO 8601, or a duration from now. */

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** The milliseconds of a duration such as 10m. null: the text is not a duration. @param units the accepted units */
function durationOf(text: string, units: string): number | null {
  const [, count, unit = ''] = /^(\d{1,9})([a-z])$/.exec(text) ?? [];
  if (count === undefined || !units.includes(unit)) return null;
  return Number(count) * (SECONDS[unit] ?? Number.NaN) * 1000;
}

/** JavaScript takes February 30 for March 2. */
const isDay = (day: string) => new Date(`${day}T00:00:00Z`).toJSON()?.startsWith(day) ?? false;

/** The time of a text in a form. null: it is not a time. JavaScript also accepts other texts, which are probably mistakes. */
function timeOf(text: string, form: RegExp): Date | null {
  const time = new Date(form.test(text) && isDay(text.slice(0, 10)) ? text : Number.NaN);
  return Number.isNaN(time.getTime()) ? null : time;
}

const DAY = /^\d{4}-\d\d-\d\d/;
const TIME_WITH_ZONE = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

/**
 * A time, or a duration before now, as a time.
 * @param option the option, for the message
 * @throws UsageError
 */
export function pastTime(option: string, text: string, now: Date): string {
  const before = durationOf(text, 'smhd');
  const time = before === null ? timeOf(text, DAY) : new Date(now.getTime() - before);
  if (time === null || Number.isNaN(time.getTime()))
    throw new UsageError(`${option} must be a time or a duration such as 10m, not "${text}"`);
  return time.toISOString();
}

/**
 * A time, or a duration after now, as a time.
 * @throws UsageError when the text is no time, or the time is in the past
 */
export function expiryTime(text: string, now: Date): Date {
  const after = text.length > '99999d'.length ? null : durationOf(text, 'hd');
  const time = after === null ? timeOf(text, TIME_WITH_ZONE) : new Date(now.getTime() + after);
  if (time === null)
    throw new UsageError(
      `--expires: "${text}" is neither a time such as 2030-01-31T00:00:00Z nor 90d or 12h`,
    );
  if (time <= now) throw new UsageError(`--expires: "${text}" is in the past`);
  return time;
}

/** `--since`. Its value is a time of ISO 8601, so a duration means the same time in each request of the command. */
export const sinceOption = (): Option =>
  valueOption('--since <time>', 'ISO 8601, or a duration: 30s, 10m, 3h, 2d', (text) =>
    pastTime('--since', text, new Date()),
  );

/** `--until`. Its value is a time of ISO 8601. */
export const untilOption = (): Option =>
  valueOption('--until <time>', 'ISO 8601, or a duration', (text) => pastTime('--until', text, new Date()));

/** `--expires` of commands that create keys. Its value is a Date. */
export const expiresOption = (): Option =>
  valueOption(
    '--expires <when>',
    'expiry of the key: 90d, 12h, or a time such as 2030-01-31T00:00:00Z; default: never',
    (text) => expiryTime(text, new Date()),
  );
