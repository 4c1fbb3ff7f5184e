/** Requests of an idle Berth: leases, long polls, probes. Every other request at the proxies is work. */
import type { HttpRequest } from './proxies/http-traffic.ts';
import type { KubernetesRequest } from './proxies/kubernetes-traffic.ts';
import type { SqlMessage } from './proxies/postgres-traffic.ts';

/** Watches stay open, leases are renewed and read, the version is asked for once an hour and after an outage. */
export function isKubernetesHeartbeat({
  verb,
  resource,
}: Pick<KubernetesRequest, 'verb' | 'resource'>): boolean {
  return verb === 'watch' || resource === 'leases' || (verb === 'get' && resource === '');
}

/** The hub is asked for work and for wanted logs, and told that the lease is held. */
export function isHubHeartbeat({ method, path }: HttpRequest): boolean {
  return path.endsWith('/lease') || method === 'GET';
}

const WRITE =
  /\b(?:INSERT\s+INTO|UPDATE(?!\s+(?:OF|SET)\b)|DELETE\s+FROM)\s+(?:ONLY\s+)?"?(?:public"?\."?)?([a-z_]+)"?/gi;

/**
 * Run by the clock or with every call, and write only what is due: branches to look at, when a key was used, what the hub
 * does every hour (hub/store/core/housekeeping.ts).
 */
const PERIODIC =
  /next_poll_at <= now\(\)|set "last_used_at" = now\(\)|WHERE ctid = ANY|interval '12 hours'|AS logged WHERE age/i;

/** Tables that a statement writes; none: it reads. */
export function tablesWritten(sql: string): string[] {
  if (PERIODIC.test(sql)) return [];
  // FOR UPDATE and FOR NO KEY UPDATE are locks.
  const statement = sql.replace(/\bFOR\s+(?:NO\s+KEY\s+)?UPDATE\b/gi, '');
  return [...statement.matchAll(WRITE)].map(([, table]) => (table ?? '').toLowerCase());
}

/** Written by leases and by the sweeps that look for what has expired, whether there is something or not. */
export const BACKGROUND: ReadonlySet<string> = new Set([
  'listeners',
  'idempotency_keys',
  'build_logs',
  'repository_cleanings',
]);

export function isSqlHeartbeat({ sql }: SqlMessage): boolean {
  return tablesWritten(sql).every((table) => BACKGROUND.has(table));
}

/** One heartbeat, by the client and by what is always the same of it. */
export interface Beat {
  readonly kind: 'watch' | 'call' | 'statement';
  readonly what: string;
}

const pathOf = (path: string) => new URL(path, 'http://proxy').pathname;

export function kubernetesBeat({
  client,
  verb,
  path,
}: Pick<KubernetesRequest, 'client' | 'verb' | 'path'>): Beat {
  return { kind: verb === 'watch' ? 'watch' : 'call', what: `${client}: ${verb} ${pathOf(path)}` };
}

export function hubBeat({ client, method, path }: HttpRequest): Beat {
  return { kind: 'call', what: `${client}: ${method} ${pathOf(path)}` };
}

/** Borders of transactions come with what is in them. */
const BORDER = /^(?:BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|SET)\b/i;

export function sqlBeat({ client, sql }: SqlMessage): Beat[] {
  return BORDER.test(sql) ? [] : [{ kind: 'statement', what: `${client}: ${sql.slice(0, 200)}` }];
}

/**
 * As often in a second as no clock of Berth goes: a lease is renewed each 2 s, a poll for work waits 5 s, a watch stays
 * open for minutes. What does not wait comes some hundred times.
 */
const MOST_A_SECOND: Readonly<Record<Beat['kind'], number>> = { watch: 0.1, call: 2, statement: 4 };
/** Clocks of several things meet, and what a busy machine has held up comes at once. */
const AT_ONCE = 5;

/** A line for each heartbeat that came more often. */
export function faster(beats: readonly Beat[], seconds: number): string[] {
  const counts = new Map<string, { kind: Beat['kind']; times: number }>();
  for (const { kind, what } of beats) counts.set(what, { kind, times: (counts.get(what)?.times ?? 0) + 1 });
  return [...counts]
    .filter(([, { kind, times }]) => times > AT_ONCE + MOST_A_SECOND[kind] * seconds)
    .map(([what, { times }]) => `${times} times within ${seconds} s: ${what}`);
}
