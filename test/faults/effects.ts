/** Outbound effects of a role, with names that are equal in every run of a workload. */
import { isHubHeartbeat, isKubernetesHeartbeat, tablesWritten } from './heartbeats.ts';
import type { HttpRequest } from './proxies/http-traffic.ts';
import type { KubernetesRequest } from './proxies/kubernetes-traffic.ts';
import type { SqlMessage } from './proxies/postgres-traffic.ts';
import type { FaultRole } from './world.ts';

/** One effect of a recorded run. */
export interface Effect {
  readonly role: FaultRole;
  /** What the role does, such as `apply deployments shop-api`. The text does not contain the occurrence. */
  readonly what: string;
  /** Number among the effects of this role with the same text, from 1. */
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
/** POST requests that store nothing, such as SubjectAccessReviews. */
const REVIEWS = /reviews$/;
/** Hashes in names. The second form is the hash of a StatefulSet's revision, which can be as short as five characters. */
const HEX = /[0-9a-f]{8,}|(?<=-)[4-9bcdf]{5,7}\b/g;

/** Replaces ids and hashes in the name of an object by `x`, because they differ between runs. */
export function maskedName(name: string): string {
  return name.replace(HEX, 'x');
}

/** The effect of a request to the API server. Undefined if the request is a heartbeat or changes nothing. */
export function kubernetesEffect(request: KubernetesRequest): string | undefined {
  const { verb, resource, subresource, name, path } = request;
  if (!WRITES.has(verb) || isKubernetesHeartbeat(request) || path.includes('dryRun=')) return undefined;
  if (REVIEWS.test(resource)) return undefined;
  // Events have no stable names, so only their order distinguishes them. Names of plans contain this text.
  if (resource === 'events') return 'tell events';
  const kind = subresource === '' ? resource : `${resource}-${subresource}`;
  return `${verb} ${kind} ${maskedName(name)}`.trim();
}

/** The effect of a call to the hub. Undefined if the call only reads or is a heartbeat. */
export function hubEffect(request: HttpRequest): string | undefined {
  if (isHubHeartbeat(request)) return undefined;
  const last = new URL(request.path, 'http://hub').pathname.split('/').at(-1) ?? '';
  return `post ${last}`;
}

/** A transaction that writes only these tables renews a lease or removes expired rows. */
const BACKGROUND_TABLES: ReadonlySet<string> = new Set([
  'listeners',
  'idempotency_keys',
  'repository_cleanings',
]);

/** Follows the transactions of the clients of PostgreSQL, and reports what each COMMIT makes durable. */
export class Transactions {
  readonly #open = new Map<string, Set<string>>();

  /** The effect of this message. Undefined if it is not a COMMIT, or if its transaction has written nothing. */
  commits({ client, connection, sql }: SqlMessage): string | undefined {
    const key = `${client} ${connection}`;
    if (/^BEGIN\b/i.test(sql)) this.#open.set(key, new Set());
    const written = this.#open.get(key);
    for (const table of tablesWritten(sql)) written?.add(table);
    if (!/^(?:COMMIT|ROLLBACK)\b/i.test(sql)) return undefined;
    this.#open.delete(key);
    if (written === undefined || written.size === 0 || /^ROLLBACK/i.test(sql)) return undefined;
    const tables = [...written].sort();
    return tables.every((table) => BACKGROUND_TABLES.has(table)) ? undefined : `commit ${tables.join('+')}`;
  }
}

/** The effect as part of the name of a plan. */
export function effectName({ role, what, occurrence }: Effect): string {
  return `${role}-${what.replace(/[^a-zA-Z0-9]+/g, '-')}-${occurrence}`;
}

/** Role, verb and kind of object, without the name of the object: `operator apply services`. */
export const kindOfEffect = ({ role, what }: Pick<Effect, 'role' | 'what'>): string =>
  `${role} ${what.split(' ').slice(0, 2).join(' ')}`;

/** Counts the effects with the same text. */
export class Occurrences {
  readonly #counts = new Map<string, number>();

  next(what: string): number {
    const count = (this.#counts.get(what) ?? 0) + 1;
    this.#counts.set(what, count);
    return count;
  }
}
