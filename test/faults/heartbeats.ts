/** Requests of an idle Berth: leases, long polls, probes. All other requests that pass the proxies are work. */
import type { HttpRequest } from './proxies/http-traffic.ts';
import type { KubernetesRequest } from './proxies/kubernetes-traffic.ts';
import type { SqlMessage } from './proxies/postgres-traffic.ts';

/** Start of the names of Secrets to which deployments of the plans refer by secret_references. Other Secrets have other names. */
export const REFERENCED_SECRET = 'external-';

/** A read of a referenced Secret, which the operator repeats every minute. No other read of a Secret is a heartbeat. */
function isReferenceRead({ verb, resource, name }: Pick<KubernetesRequest, 'verb' | 'resource' | 'name'>) {
  return verb === 'get' && resource === 'secrets' && name.startsWith(REFERENCED_SECRET);
}

type Heartbeat = Pick<KubernetesRequest, 'verb' | 'resource' | 'name'>;

/**
 * Watches, reads and renewals of leases, reads of referenced Secrets, and GET /version, which is sent once an hour and after
 * an outage.
 */
export function isKubernetesHeartbeat(request: Heartbeat): boolean {
  const { verb, resource } = request;
  return (
    verb === 'watch' ||
    resource === 'leases' ||
    (verb === 'get' && resource === '') ||
    isReferenceRead(request)
  );
}

/** Requests for work and for log requests, and renewals of the lease. */
export function isHubHeartbeat({ method, path }: HttpRequest): boolean {
  return path.endsWith('/lease') || method === 'GET';
}

const WRITE =
  /\b(?:INSERT\s+INTO|UPDATE(?!\s+(?:OF|SET)\b)|DELETE\s+FROM)\s+(?:ONLY\s+)?"?(?:public"?\."?)?([a-z_]+)"?/gi;

/**
 * Statements that run periodically or with every call, and write only rows that are due: repositories to poll, the last
 * use of an API key, the hourly housekeeping (hub/store/core/housekeeping.ts).
 */
const PERIODIC =
  /next_poll_at <= now\(\)|set "last_used_at" = now\(\)|WHERE ctid = ANY|interval '12 hours'|AS logged WHERE age/i;

/** The tables that a statement writes. Empty if the statement only reads. */
export function tablesWritten(sql: string): string[] {
  if (PERIODIC.test(sql)) return [];
  // FOR UPDATE and FOR NO KEY UPDATE are locks.
  const statement = sql.replace(/\bFOR\s+(?:NO\s+KEY\s+)?UPDATE\b/gi, '');
  return [...statement.matchAll(WRITE)].map(([, table]) => (table ?? '').toLowerCase());
}

/** Tables that lease renewals and the removal of expired rows write, even if no row is affected. */
export const BACKGROUND: ReadonlySet<string> = new Set([
  'listeners',
  'idempotency_keys',
  'build_logs',
  'repository_cleanings',
]);

export function isSqlHeartbeat({ sql }: SqlMessage): boolean {
  return tablesWritten(sql).every((table) => BACKGROUND.has(table));
}

/** One heartbeat: its client, and the part of the request that does not change. */
export interface Beat {
  readonly kind: 'watch' | 'call' | 'reference' | 'statement';
  readonly what: string;
}

const pathOf = (path: string) => new URL(path, 'http://proxy').pathname;

export function kubernetesBeat(request: Heartbeat & Pick<KubernetesRequest, 'client' | 'path'>): Beat {
  const { client, verb, path } = request;
  const kind = verb === 'watch' ? 'watch' : isReferenceRead(request) ? 'reference' : 'call';
  return { kind, what: `${client}: ${verb} ${pathOf(path)}` };
}

export function hubBeat({ client, method, path }: HttpRequest): Beat {
  return { kind: 'call', what: `${client}: ${method} ${pathOf(path)}` };
}

/** Boundaries of transactions are not counted: the statements between them are. */
const BOUNDARY = /^(?:BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|SET)\b/i;

export function sqlBeat({ client, sql }: SqlMessage): Beat[] {
  return BOUNDARY.test(sql) ? [] : [{ kind: 'statement', what: `${client}: ${sql.slice(0, 200)}` }];
}

/**
 * Maximum rate per second of each kind of heartbeat, above the rate of any timer in Berth: a lease is renewed every 2 s,
 * a poll for work waits for 5 s, a watch stays open for minutes. A loop without a pause makes hundreds of requests.
 */
const MAX_PER_SECOND: Readonly<Record<Beat['kind'], number>> = {
  watch: 0.1,
  call: 2,
  // Up to ten deployments of a plan refer to the same Secret, and each reads it once a minute.
  reference: 10 / 60,
  statement: 4,
};
/** Heartbeats above the rate that are allowed: timers may coincide, and a busy machine delivers delayed requests together. */
const MAX_BURST = 5;

/** One line for each heartbeat that occurred more often than allowed within `seconds`. */
export function faster(beats: readonly Beat[], seconds: number): string[] {
  const counts = new Map<string, { kind: Beat['kind']; times: number }>();
  for (const { kind, what } of beats) counts.set(what, { kind, times: (counts.get(what)?.times ?? 0) + 1 });
  return [...counts]
    .filter(([, { kind, times }]) => times > MAX_BURST + MAX_PER_SECOND[kind] * seconds)
    .map(([what, { times }]) => `${times} times within ${seconds} s: ${what}`);
}
