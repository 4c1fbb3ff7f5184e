import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP, type LookupFunction } from 'node:net';
import { isPublicAddress } from '../domain/net/networks.ts';

/**
 * Addresses of hosts that a stranger may have named. The name servers are asked directly: a name whose servers do not
 * answer, which a stranger may own, must not hold one of the few threads in which the system's own resolver waits.
 */

export interface LookupOptions {
  /** The error for a name that has an address which is not public. */
  readonly refused: (hostname: string) => Error;
  /** Default: /etc/hosts, which counts as with the system's own resolver. */
  readonly hostsFile?: string;
  /** `address:port` of name servers; default: the system's. */
  readonly servers?: readonly string[];
}

interface Address {
  readonly address: string;
  readonly family: number;
}

/** Of one name server, in milliseconds. */
const TIMEOUT_MS = 2_000;
const HOSTS_FILE = '/etc/hosts';

/** What a hosts file says of a name; nothing where there is no such file. */
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

/** Addresses of a name. @throws where it has none (ENOTFOUND), or one that is not public */
async function publicAddresses(hostname: string, options: LookupOptions): Promise<Address[]> {
  const name = hostname.toLowerCase().replace(/\.$/, '');
  const listed = await inHostsFile(name, options.hostsFile ?? HOSTS_FILE);
  const found = listed.length > 0 ? listed : await inDns(name, options.servers);
  if (found.length === 0) throw Object.assign(new Error('no address'), { code: 'ENOTFOUND' });
  if (!found.every(({ address }) => isPublicAddress(address))) throw options.refused(hostname);
  return found;
}

/** As dns.lookup, for requests: fails if one of the addresses is not public, so the one that is called was checked. */
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
