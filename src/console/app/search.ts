/** The query of a URL as texts. Each page parses its own parameters from it. */

export type Search = Readonly<Record<string, string>>;

export const parseSearch = (query: string): Search => Object.fromEntries(new URLSearchParams(query));

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A parameter, if it is an id. */
export const idOf = (value: string | undefined): string | undefined =>
  value !== undefined && UUID.test(value) ? value : undefined;

/** Leaves out what is undefined or empty. */
export function stringifySearch(search: object): string {
  const entries = Object.entries(search).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(
    entries.map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
  return text === '' ? '' : `?${text}`;
}
