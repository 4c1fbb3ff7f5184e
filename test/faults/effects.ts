/** Outbound effects of a role, with names that are the same in every run of a workload. */
import { isHubHeartbeat, isKubernetesHeartbeat, tablesWritten } from './heartbeats.ts';
import type { HttpRequest } from './proxies/http-traffic.ts';
import type { KubernetesRequest } from './proxies/kubernetes-traffic.ts';
import type { SqlMessage } from './proxies/postgres-traffic.ts';
import type { FaultRole } from './world.ts';

/** One effect of a recorded run. */
export interface Effect {
  readonly role: FaultRole;
  /** `apply deployments shop-api`: without occurrence. */
  readonly what: string;
  /** From 1, among those of the same role that are called the same. */
  readonly occurrence: number;
}

const WRITES: ReadonlySet<string> = new Set([
  'create',
  'apply',
  'patch',
  'update',
  'delete',
  'deletecollection',
]);
/** Reviews store nothing. */
const ASKED_BY_POST = /reviews$/;
/** Also the hash of a StatefulSet's own revision, which is seldom shorter; of its digits alone. */
const HEX = /[0-9a-f]{8,}|(?<=-)[4-9bcdf]{5,7}\b/g;

/** Parts of names that differ from run to run are left out: ids, hashes. */
export function maskedName(name: string): string {
  return name.replace(HEX, 'x');
}

/** What a request to the API server does; undefined: nothing that lasts, or a heartbeat. */
export function kubernetesEffect(request: KubernetesRequest): string | undefined {
  const { verb, resource, subresource, name, path } = request;
  if (!WRITES.has(verb) || isKubernetesHeartbeat(request) || path.includes('dryRun=')) return undefined;
  if (ASKED_BY_POST.test(resource)) return undefined;
  // One Event is as good as another: they are told apart by their order alone.
  if (resource === 'events') return 'tell events';
  const kind = subresource === '' ? resource : `${resource}-${subresource}`;
  return `${verb} ${kind} ${maskedName(name)}`.trim();
}

/** What a call of the hub tells; undefined: it asks, or is a heartbeat. */
export function hubEffect(request: HttpRequest): string | undefined {
  if (isHubHeartbeat(request)) return undefined;
  const last = new URL(request.path, 'http://hub').pathname.split('/').at(-1) ?? '';
  return `post ${last}`;
}

/** What only these are written in is a lease, or a sweep that comes by the clock. */
const BESIDE: ReadonlySet<string> = new Set(['listeners', 'idempotency_keys', 'repository_cleanings']);

/** Follows the transactions of one client: what each COMMIT makes last. */
export class Transactions {
  readonly #open = new Map<string, Set<string>>();

  /** What this message commits; undefined: it commits nothing that was written, or is no COMMIT. */
  commits({ client, connection, sql }: SqlMessage): string | undefined {
    const key = `${client} ${connection}`;
    if (/^BEGIN\b/i.test(sql)) this.#open.set(key, new Set());
    const written = this.#open.get(key);
    for (const table of tablesWritten(sql)) written?.add(table);
    if (!/^(?:COMMIT|ROLLBACK)\b/i.test(sql)) return undefined;
    this.#open.delete(key);
    if (written === undefined || written.size === 0 || /^ROLLBACK/i.test(sql)) return undefined;
    const tables = [...written].sort();
    return tables.every((table) => BESIDE.has(table)) ? undefined : `commit ${tables.join('+')}`;
  }
}

/** As it stands in names of plans. */
export function effectName({ role, what, occurrence }: Effect): string {
  return `${role}-${what.replace(/[^a-zA-Z0-9]+/g, '-')}-${occurrence}`;
}

/** The role, the verb and what it is used on, whatever its name: `operator apply services`. */
export const kindOfEffect = ({ role, what }: Pick<Effect, 'role' | 'what'>): string =>
  `${role} ${what.split(' ').slice(0, 2).join(' ')}`;

/** Counts what is called the same. */
export class Occurrences {
  readonly #counts = new Map<string, number>();

  next(what: string): number {
    const count = (this.#counts.get(what) ?? 0) + 1;
    this.#counts.set(what, count);
    return count;
  }
}
