import type { Option } from 'commander';
import { valueOption } from './command.ts';
import { UsageError } from './usage-error.ts';

/** `--expires` of commands that create keys. */

const HOURS: Readonly<Record<string, number>> = { h: 1, d: 24 };
/** ISO 8601 with a time zone. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

export const expiresOption = (): Option =>
  valueOption(
    '--expires <when>',
    'expiry of the key: 90d, 12h, or a time such as 2030-01-31T00:00:00Z; default: never',
  );

/** JavaScript takes February 30 for March 2. */
const isDay = (day: string) => new Date(`${day}T00:00:00Z`).toJSON()?.startsWith(day) ?? false;

/**
 * A time, or a duration from now, as a time. undefined: never.
 * @throws UsageError when the text is no time, or the time is in the past
 */
export function expiryOf(text: string | undefined, now: Date): Date | undefined {
  if (text === undefined) return undefined;
  const [, count, unit = ''] = /^(\d{1,5})([hd])$/.exec(text) ?? [];
  const time =
    count === undefined
      ? new Date(TIME.test(text) && isDay(text.slice(0, 10)) ? text : Number.NaN)
      : new Date(now.getTime() + Number(count) * (HOURS[unit] ?? 1) * 3_600_000);
  if (Number.isNaN(time.getTime()))
    throw new UsageError(
      `--expires: "${text}" is neither a time such as 2030-01-31T00:00:00Z nor 90d or 12h`,
    );
  if (time <= now) throw new UsageError(`--expires: "${text}" is in the past`);
  return time;
}
