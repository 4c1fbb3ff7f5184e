import { shellQuote } from './shell-quote.ts';

/** The commands that do the same as a view or an action of the console. */

export interface Commands {
  readonly berth?: string;
  readonly curl: string;
  readonly kubectl?: string;
}

/** A request of the API. */
export interface ApiRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path and query, such as `/v2/deployments?limit=10`. */
  readonly path: string;
  readonly tenantId: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** A command line: each word is quoted. */
export const commandLine = (...words: readonly string[]): string => words.map(shellQuote).join(' ');

/** The request with curl. The key is a variable, so that it does not stand in the history of the shell. */
export function curlCommand(
  apiUrl: string,
  { method = 'GET', path, tenantId, headers, body }: ApiRequest,
): string {
  const all = {
    'X-Tenant-Id': tenantId,
    ...headers,
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
  };
  return [
    'curl -sS',
    ...(method === 'GET' ? [] : [`-X ${method}`]),
    '-H "X-Api-Key: $BERTH_API_KEY"',
    ...Object.entries(all).map(([name, value]) => `-H ${shellQuote(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`--data-binary ${shellQuote(JSON.stringify(body))}`]),
    shellQuote(`${apiUrl}${path}`),
  ].join(' \\\n  ');
}
