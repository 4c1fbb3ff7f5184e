/**
 * Cron expressions, as the CronJobs of Kubernetes read them (robfig/cron, ParseStandard). Pure. An expression that is accepted here
 * is accepted by the API server.
 */

interface Field {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  /** Names of the values, beginning with that of `from`. */
  readonly names?: readonly string[];
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

const FIELDS = [
  { name: 'minute', from: 0, to: 59 },
  { name: 'hour', from: 0, to: 23 },
  { name: 'day of month', from: 1, to: 31 },
  { name: 'month', from: 1, to: 12, names: MONTHS },
  { name: 'day of week', from: 0, to: 6, names: DAYS },
] as const satisfies readonly Field[];

/** Names that stand for five fields. */
const DESCRIPTORS: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

/** The values that each field allows. */
export interface Cron {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
}

/** Days of the longest year. */
const DAYS_OF_MONTH = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const MINUTES_OF_DAY = 24 * 60;

/** The expression; a string says what is wrong with it, as the end of a sentence that begins with the field of a request. */
export function parseCron(text: string): Cron | string {
  if (text.startsWith('@every')) return "must not use '@every': write five fields, such as '*/10 * * * *'";
  if (/^(CRON_)?TZ=/.test(text)) return 'must not contain a time zone: use time_zone';
  const named = text.startsWith('@') ? DESCRIPTORS[text] : text;
  if (named === undefined) return `must be one of ${Object.keys(DESCRIPTORS).join(', ')}, or five fields`;
  const parts = named.split(/[ \t]+/);
  if (parts.length !== FIELDS.length || parts.includes(''))
    return 'must have five fields: minute, hour, day of month, month and day of week';
  const values: Set<number>[] = [];
  for (const [index, field] of FIELDS.entries()) {
    const found = fieldValues(parts[index] ?? '', field);
    if (typeof found === 'string') return found;
    values.push(found);
  }
  const [minutes, hours, days, months] = values as [Set<number>, Set<number>, Set<number>, Set<number>];
  // A step above 1 restricts the day, and then either of both days is sufficient.
  const isAnyWeekday = /(^|,)[*?](\/1)?(,|$)/.test(parts[4] ?? '');
  const isPossible = [...months].some((month) => Math.min(...days) <= (DAYS_OF_MONTH[month - 1] ?? 0));
  if (isAnyWeekday && !isPossible) return 'is never due: none of its months has such a day';
  return { minutes, hours };
}

/** The values of a field; a string says what is wrong with it. */
function fieldValues(text: string, field: Field): Set<number> | string {
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const range = rangeOf(part, field);
    if (typeof range === 'string') return range;
    const { first, last, step } = range;
    for (let value = first; value <= last; value += step) values.add(value);
  }
  return values;
}

interface Range {
  readonly first: number;
  readonly last: number;
  readonly step: number;
}

function rangeOf(part: string, field: Field): Range | string {
  const { name, from, to } = field;
  const problem = (why: string) => `has a ${name} '${part}' that ${why}`;
  const match = /^([^/-]+)(?:-([^/-]+))?(?:\/(\d{1,9}))?$/.exec(part);
  if (match === null) return problem('is not a number, a range, * or a step, such as 5, 1-5, * or */10');
  const [, start = '', end, interval] = match;
  const step = interval === undefined ? 1 : Number(interval);
  if (step === 0) return problem('has a step of 0');
  if (start === '*' || start === '?') {
    if (end !== undefined) return problem(`has a range that begins with ${start}`);
    return { first: from, last: to, step };
  }
  const first = numberIn(start, field);
  const last = end === undefined ? (interval === undefined ? first : to) : numberIn(end, field);
  if (first === null || last === null) return problem(`is not from ${from} to ${to}${namesOf(field)}`);
  if (first > last) return problem('has a range that ends before it begins');
  return { first, last, step };
}

const namesOf = ({ names }: Field): string =>
  names === undefined ? '' : `, or from ${names[0]} to ${names.at(-1)}`;

/** null: the field does not have the value. */
function numberIn(text: string, { from, to, names = [] }: Field): number | null {
  const at = names.indexOf(text.toLowerCase());
  if (at >= 0) return from + at;
  if (!/^\d{1,3}$/.test(text)) return null;
  const value = Number(text);
  return value < from || value > to ? null : value;
}

/** The shortest time between two runs on days that are both allowed, in minutes. */
export function shortestInterval({ minutes, hours }: Cron): number {
  const times = [...hours]
    .flatMap((hour) => [...minutes].map((minute) => hour * 60 + minute))
    .sort((a, b) => a - b);
  const gaps = times.map((time, index) => (times[index + 1] ?? (times[0] ?? 0) + MINUTES_OF_DAY) - time);
  return Math.min(...gaps);
}
