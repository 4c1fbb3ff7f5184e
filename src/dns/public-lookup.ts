import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP, type LookupFunction } from 'node:net';
import { isPublicAddress } from '../domain/net/networks.ts';

/**
 * Resolves hosts that a tenant may have chosen. The resolver queries the name servers directly. The system resolver
 * uses one of a few threads for each query, and a name whose servers do not respond would block a thread. A tenant may
 * own a name whose servers do not respond.
 */

export interface LookupOptions {
  /** Creates the error for a name with an address that is not public. */
  readonly refused: (hostname: string) => Error;
  /** Path of the hosts file; default: /etc/hosts, as for the system resolver. */
  readonly hostsFile?: string;
  /** `address:port` of name servers; default: the name servers of the system. */
  readonly servers?: readonly string[];
}

interface Address {
  readonly address: string;
  readonly family: number;
}

/** Timeout of one name server, in milliseconds. */
const TIMEOUT_MS = 2_000;
const HOSTS_FILE = '/etc/hosts';

/** Addresses of a name in a hosts file. Empty if the file does not exist. */
async function inHostsFile(hostname: string, file: string): Promise<Address[]> {
  const content = await readFile(file, 'utf8').catch(() => '');
  return content.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    const family = isIP(address);
    return family !== 0 && names.some((name) => name.toLowerCase() === hostname) ? [{ address, family }] : [];
  });
}

async function inDns(hostname: string, servers: readonly string[] | undefined): Promise<Address[]> {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: 1 });
  if (servers !== undefined) resolver.setServers(servers);
  const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  return [
    ...(four.status === 'fulfilled' ? four.value : []).map((address) => ({ address, family: 4 })),
    ...(six.status === 'fulfilled' ? six.value : []).map((address) => ({ address, family: 6 })),
  ];
}

/** Addresses of a name. @throws when the name has no address (ENOTFOUND), or an address that is not public */
async function publicAddresses(hostname: string, options: LookupOptions): Promise<Address[]> {
  const name = hostname.toLowerCase().replace(/\.$/, '');
  const listed = await inHostsFile(name, options.hostsFile ?? HOSTS_FILE);
  const found = listed.length > 0 ? listed : await inDns(name, options.servers);
  if (found.length === 0) throw Object.assign(new Error('no address'), { code: 'ENOTFOUND' });
  if (!found.every(({ address }) => isPublicAddress(address))) throw options.refused(hostname);
  return found;
}

/**
 * A replacement of dns.lookup for requests. The function fails if an address is not public, so that a request calls
 * only checked addresses.
 */
export function publicLookup(options: LookupOptions): LookupFunction {
  return (hostname, { all }, callback) => {
    publicAddresses(hostname, options).then(
      (found) => {
        const [first] = found;
        if (all === true || first === undefined) callback(null, [...found]);
        else callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, '', 0),
    );
  };
}
