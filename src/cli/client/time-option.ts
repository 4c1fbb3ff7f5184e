import { UsageError } from '../command/usage-error.ts';

/** Options that name a time. */

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/**
 * A time, or a duration before now, as a time.
 * @param option the option, for the message
 * @throws UsageError
 */
export function timeOf(option: string, word: string, now: Date): string {
  const [, count, unit = ''] = /^(\d{1,9})([smhd])$/.exec(word) ?? [];
  // JavaScript also accepts other texts as times. Such texts are rejected, because they are probably mistakes.
  const date = new Date(/^\d{4}-\d\d-\d\d/.test(word) ? word : Number.NaN);
  const time =
    count === undefined ? date : new Date(now.getTime() - Number(count) * (SECONDS[unit] ?? 1) * 1000);
  if (Number.isNaN(time.getTime()))
    throw new UsageError(`${option} must be a time or a duration such as 10m, not "${word}"`);
  return time.toISOString();
}
