import type { Search } from '../app/search.ts';

/** The filters of the history, as they are in the URL and in the API. */

export interface HistoryFilters {
  /** Reasons, separated by commas. */
  readonly reason?: string;
  readonly deployment_id?: string;
  /** Times of ISO 8601. */
  readonly since?: string;
  readonly until?: string;
}
export type HistoryFilterName = keyof HistoryFilters;

const NAMES = ['reason', 'deployment_id', 'since', 'until'] as const satisfies readonly HistoryFilterName[];

const isTime = (text: string) => !Number.isNaN(Date.parse(text));

/** The filters of a URL, without spaces around them. A time that cannot be parsed is left out. */
export function historyFiltersOf(search: Search | HistoryFilters): HistoryFilters {
  const given: Search = { ...search };
  const entries = NAMES.map((name) => [name, given[name]?.trim() ?? ''] as const).filter(
    ([name, value]) => value !== '' && ((name !== 'since' && name !== 'until') || isTime(value)),
  );
  return Object.fromEntries(entries);
}

const pad = (value: number) => String(value).padStart(2, '0');

/** A time in the form of a field for local times, such as `2030-01-31T14:05`. An empty text stays empty. */
export function localTimeOf(time: string): string {
  if (time === '') return '';
  const at = new Date(time);
  const day = `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
  return `${day}T${pad(at.getHours())}:${pad(at.getMinutes())}`;
}

/** The time of a field for local times. A text that is not a time becomes empty. */
export const timeOfLocal = (local: string): string => (isTime(local) ? new Date(local).toISOString() : '');

/** The words of `berth events` for these filters. */
export function eventsCommand({ reason, deployment_id: deployment, since, until }: HistoryFilters): string[] {
  const option = (name: string, value: string | undefined) => (value === undefined ? [] : [name, value]);
  return [
    ...(deployment === undefined ? [] : [deployment]),
    ...option('--reason', reason),
    ...option('--since', since),
    ...option('--until', until),
  ];
}
