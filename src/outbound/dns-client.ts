import { CANCELLED, NODATA, NOTFOUND, Resolver } from 'node:dns/promises';

/**
 * Looks up names of tenants in DNS. Only the configured DNS servers are called, and never the address of a result, so a tenant
 * cannot make Berth call other hosts.
 */

/** The records of a name; null: the DNS server does not answer, or answers with an error. Empty: there are no records. */
export type Records = readonly string[] | null;

export interface DnsClient {
  /** IPv4 and IPv6 addresses of a name. CNAME records are followed. */
  addresses(name: string, signal: AbortSignal): Promise<Records>;
  /** Values of the TXT records of a name. The parts of a value are joined. */
  texts(name: string, signal: AbortSignal): Promise<Records>;
}

export interface DnsClientOptions {
  /** Addresses of DNS servers, with an optional port. Empty: those of the machine. */
  readonly servers: readonly string[];
  /** Maximum time of a lookup, in ms. Default: 5 s. */
  readonly timeoutMs?: number;
}

/** Time in ms until a query is repeated. */
const QUERY_MS = 1_500;
const TRIES = 2;

const isMissing = (code: unknown) => code === NOTFOUND || code === NODATA;

/** @throws when the signal fires */
async function ask(
  { servers, timeoutMs = 5_000 }: DnsClientOptions,
  query: (resolver: Resolver) => Promise<readonly string[]>,
  signal: AbortSignal,
): Promise<Records> {
  signal.throwIfAborted();
  const resolver = new Resolver({ timeout: Math.min(QUERY_MS, timeoutMs), tries: TRIES });
  if (servers.length > 0) resolver.setServers([...servers]);
  const cancel = () => resolver.cancel();
  const timer = setTimeout(cancel, timeoutMs);
  signal.addEventListener('abort', cancel, { once: true });
  try {
    return await query(resolver);
  } catch (error) {
    signal.throwIfAborted();
    const { code } = error as { code?: unknown };
    if (code !== CANCELLED && typeof code !== 'string') throw error;
    return isMissing(code) ? [] : null;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', cancel);
  }
}

/** A DNS client for the configured servers. */
export function createDnsClient(options: DnsClientOptions): DnsClient {
  return {
    async addresses(name, signal) {
      const families = await Promise.all([
        ask(options, (resolver) => resolver.resolve4(name), signal),
        ask(options, (resolver) => resolver.resolve6(name), signal),
      ]);
      const found = families.flatMap((records) => records ?? []).sort();
      // One family is enough to reach a host, so an error of the other one does not matter.
      return found.length === 0 && families.includes(null) ? null : found;
    },
    texts: (name, signal) =>
      ask(
        options,
        async (resolver) => (await resolver.resolveTxt(name)).map((parts) => parts.join('')),
        signal,
      ),
  };
}
