/** Which networks are the internet, and which are not: of URLs that tenants give, and of what their pods may reach. */

/** IPv4 networks that are not public (RFC 6890 and its registry; from 224.0.0.0 on nothing is). */
const PRIVATE_IPV4: readonly string[] = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
];

/**
 * Services of cloud providers at public addresses that only machines of the provider reach: Azure's wire server, which hands
 * out the settings of a node, and IBM Cloud's service networks. Closed as private networks are; BERTH_OPEN_NETWORKS opens them.
 */
export const PROVIDER_NETWORKS: readonly string[] = ['161.26.0.0/16', '166.8.0.0/14', '168.63.129.16/32'];

const CLOSED_IPV4: readonly string[] = [...PRIVATE_IPV4, ...PROVIDER_NETWORKS];

/** Global unicast; outside of it are private and local addresses, and those that carry IPv4 ones (64:ff9b::/96). */
const PUBLIC_IPV6 = '2000::/3';
/**
 * Of that, tunnels, which carry IPv4 addresses, networks for documentation, and the block that IANA reserves for protocols
 * (2001::/23: Teredo, benchmarks, ORCHID).
 */
const PRIVATE_IN_IPV6: readonly string[] = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

interface Network {
  readonly cidr: string;
  readonly except: string[];
}

const isIpv4 = (address: string) => !address.includes(':');
const isGlobalUnicast = (network: string) => /^[23][0-9a-f]{3}:/i.test(network);

/**
 * What pods may reach that nothing else names.
 * @param closed further networks that they may not
 * @param open provider networks, or parts of them, that they may; what is closed wins
 */
export function publicNetworks(closed: readonly string[], open: readonly string[] = []): Network[] {
  const ipv4 = closed.filter(isIpv4);
  const opened = open.filter((network) => !ipv4.some((other) => contains(other, network)));
  // The others are closed already, and an exception has to be within what it is one of.
  const ipv6 = closed.filter(isGlobalUnicast);
  return [
    { cidr: '0.0.0.0/0', except: [...new Set([...CLOSED_IPV4, ...ipv4])] },
    ...opened.map((cidr) => ({ cidr, except: ipv4.filter((other) => contains(cidr, other)) })),
    { cidr: PUBLIC_IPV6, except: [...new Set([...PRIVATE_IN_IPV6, ...ipv6])] },
  ];
}

/** A valid address as a number. That of IPv6 has groups of hexadecimal digits alone. */
export function addressNumber(address: string): bigint {
  if (isIpv4(address)) return address.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n);
  const [first = [], last = []] = address.split('::').map((half) => half.split(':').filter(Boolean));
  const groups = [...first, ...Array<string>(8 - first.length - last.length).fill('0'), ...last];
  return groups.reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n);
}

/** How many addresses a network has whose prefix has so many bits. */
export const networkSize = (address: string, bits: number): bigint =>
  2n ** BigInt((isIpv4(address) ? 32 : 128) - bits);

/** @param network of the same family */
function isWithin(address: string, network: string): boolean {
  const [first = '', bits] = network.split('/');
  const from = addressNumber(first);
  const number = addressNumber(address);
  return number >= from && number < from + networkSize(first, Number(bits));
}

/** Whether one IPv4 network holds all of another. */
function contains(network: string, other: string): boolean {
  const [first = '', bits] = other.split('/');
  return isWithin(first, network) && Number(bits) >= Number(network.split('/')[1]);
}

/** Whether a network is one that BERTH_OPEN_NETWORKS may open: a provider's, or a part of one. */
export function isProviderNetwork(network: string): boolean {
  return isIpv4(network) && PROVIDER_NETWORKS.some((provider) => contains(provider, network));
}

/** Whether an address, such as a name resolved to, is public: as `publicNetworks` has it where nothing is opened. */
export function isPublicAddress(address: string): boolean {
  // Neither a zone, nor an IPv4 address within one of IPv6.
  if (!isIpv4(address) && !/^[0-9a-f:]+$/i.test(address)) return false;
  if (isIpv4(address)) return !CLOSED_IPV4.some((network) => isWithin(address, network));
  return isWithin(address, PUBLIC_IPV6) && !PRIVATE_IN_IPV6.some((network) => isWithin(address, network));
}
