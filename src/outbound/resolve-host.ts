import { lookup, Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { isPublicAddress } from '../domain/net/networks.ts';
import { errorCode, HostError } from './host-error.ts';

/**
 * Resolves the name of a host that a tenant may have chosen, and checks every address. A caller connects to the returned
 * addresses only, so the name cannot change to a private address between the check and the call.
 */

/** Which addresses may be called. */
export interface AddressRules {
  /** Private and loopback addresses may be called. */
  readonly allowPrivate: boolean;
  /** Other networks that must not be called unless private addresses may be (BERTH_CLOSED_NETWORKS). */
  readonly closedNetworks: readonly string[];
}

export interface HostAddress {
  readonly address: string;
  readonly family: number;
}

/** For tests. */
export interface ResolveOptions {
  /** Default: /etc/hosts, as for the system resolver. */
  readonly hostsFile?: string;
  /** `address:port` of name servers; default: the system's. */
  readonly servers?: readonly string[];
}

/** Timeout of one name server, in milliseconds. */
const TIMEOUT_MS = 2_000;
const HOSTS_FILE = '/etc/hosts';

/** Addresses of a name in a hosts file. Empty if the file does not exist. */
async function inHostsFile(hostname: string, file: string): Promise<HostAddress[]> {
  const content = await readFile(file, 'utf8').catch(() => '');
  return content.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    const family = isIP(address);
    return family !== 0 && names.some((name) => name.toLowerCase() === hostname) ? [{ address, family }] : [];
  });
}

/**
 * Queries the name servers directly. The system resolver occupies one of a few threads for each query, so a name whose
 * servers do not respond, and which a tenant may own, would block a thread.
 */
async function inDns(hostname: string, servers: readonly string[] | undefined): Promise<HostAddress[]> {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: 1 });
  if (servers !== undefined) resolver.setServers(servers);
  const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (found.length > 0) return found.map((address) => ({ address, family: isIP(address) }));
  const codes = answers.flatMap((answer) => (answer.status === 'rejected' ? [errorCode(answer.reason)] : []));
  const temporary = codes.find((code) => code !== 'ENOTFOUND' && code !== 'ENODATA');
  throw new HostError('unresolved', temporary ?? 'ENOTFOUND');
}

async function addressesOf(
  hostname: string,
  { allowPrivate }: AddressRules,
  { hostsFile = HOSTS_FILE, servers }: ResolveOptions,
): Promise<HostAddress[]> {
  const name = hostname
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');
  const family = isIP(name);
  if (family !== 0) return [{ address: name, family }];
  if (allowPrivate) {
    // A private name may be known to the system resolver only.
    return lookup(hostname, { all: true }).catch((error) => {
      throw new HostError('unresolved', errorCode(error));
    });
  }
  if (name === 'localhost') throw new HostError('closed_address', name);
  const listed = await inHostsFile(name, hostsFile);
  return listed.length > 0 ? listed : inDns(name, servers);
}

/** The result of a promise, or the reason of the signal when that fires first. */
async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener('abort', abort));
}

/**
 * The addresses of a host.
 * @param hostname of a URL: a name, or an IP address
 * @throws HostError `closed_address` if any address must not be called, `unresolved`; the reason of the signal
 */
export async function resolveHost(
  hostname: string,
  rules: AddressRules,
  signal: AbortSignal,
  options: ResolveOptions = {},
): Promise<HostAddress[]> {
  const found = await untilAborted(addressesOf(hostname, rules, options), signal);
  const { allowPrivate, closedNetworks } = rules;
  const closed = allowPrivate
    ? undefined
    : found.find(({ address }) => !isPublicAddress(address, closedNetworks));
  if (closed !== undefined) throw new HostError('closed_address', closed.address);
  return found;
}
