/** Defines public and private networks, for URLs from tenants and for the egress of their pods. */

/** IPv4 networks that are not public (RFC 6890 and its registry, and everything from 224.0.0.0). */
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
 * Services of cloud providers at public addresses that only machines of the provider can reach: the wire server of
 * Azure, which serves the settings of a node, and service networks of IBM Cloud. Service networks of cloud providers
 * are blocked like private networks. BERTH_OPEN_NETWORKS opens them.
 */
export const PROVIDER_NETWORKS: readonly string[] = ['161.26.0.0/16', '166.8.0.0/14', '168.63.129.16/32'];

const CLOSED_IPV4: readonly string[] = [...PRIVATE_IPV4, ...PROVIDER_NETWORKS];

/**
 * Global unicast. The public IPv6 network. Private, local and IPv4-embedding addresses (64:ff9b::/96) are outside of
 * this network.
 */
const PUBLIC_IPV6 = '2000::/3';
/**
 * Networks within the public IPv6 network that are not public: tunnels with embedded IPv4 addresses, networks for
 * documentation, and the block that IANA reserves for protocols (2001::/23: Teredo, benchmarks, ORCHID).
 */
const PRIVATE_IN_IPV6: readonly string[] = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

interface Network {
  readonly cidr: string;
  readonly except: string[];
}

const isIpv4 = (address: string) => !address.includes(':');
const isGlobalUnicast = (network: string) => /^[23][0-9a-f]{3}:/i.test(network);

/**
 * Public networks that pods may reach, with exceptions.
 * @param closed additional networks that pods may not reach
 * @param open provider networks, or parts of them, that pods may reach. Closed networks take precedence
 */
export function publicNetworks(closed: readonly string[], open: readonly string[] = []): Network[] {
  const ipv4 = closed.filter(isIpv4);
  const opened = open.filter((network) => !ipv4.some((other) => contains(other, network)));
  // Other closed networks are already blocked, and an exception must be within the network of its rule.
  const ipv6 = closed.filter(isGlobalUnicast);
  return [
    { cidr: '0.0.0.0/0', except: [...new Set([...CLOSED_IPV4, ...ipv4])] },
    ...opened.map((cidr) => ({ cidr, except: ipv4.filter((other) => contains(cidr, other)) })),
    { cidr: PUBLIC_IPV6, except: [...new Set([...PRIVATE_IN_IPV6, ...ipv6])] },
  ];
}

/** A valid address as a number. An IPv6 address must not contain a dotted IPv4 part. */
export function addressNumber(address: string): bigint {
  if (isIpv4(address)) return address.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n);
  const [first = [], last = []] = address.split('::').map((half) => half.split(':').filter(Boolean));
  const groups = [...first, ...Array<string>(8 - first.length - last.length).fill('0'), ...last];
  return groups.reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n);
}

/** Number of addresses of a network with this prefix length. */
export const networkSize = (address: string, bits: number): bigint =>
  2n ** BigInt((isIpv4(address) ? 32 : 128) - bits);

/** @param network a network of the same family */
function isWithin(address: string, network: string): boolean {
  const [first = '', bits] = network.split('/');
  const from = addressNumber(first);
  const number = addressNumber(address);
  return number >= from && number < from + networkSize(first, Number(bits));
}

/** Whether one IPv4 network contains another. */
function contains(network: string, other: string): boolean {
  const [first = '', bits] = other.split('/');
  return isWithin(first, network) && Number(bits) >= Number(network.split('/')[1]);
}

/** Whether BERTH_OPEN_NETWORKS can open a network: a provider network, or a part of one. */
export function isProviderNetwork(network: string): boolean {
  return isIpv4(network) && PROVIDER_NETWORKS.some((provider) => contains(provider, network));
}

/**
 * Whether an address is public: in `publicNetworks` without opened networks.
 * @param closed additional networks that are not public
 */
export function isPublicAddress(address: string, closed: readonly string[] = []): boolean {
  // IPv6 zones and dotted IPv4 parts are not accepted.
  if (!isIpv4(address) && !/^[0-9a-f:]+$/i.test(address)) return false;
  const isClosed = (network: string) => isIpv4(network) === isIpv4(address) && isWithin(address, network);
  if (closed.some(isClosed)) return false;
  if (isIpv4(address)) return !CLOSED_IPV4.some((network) => isWithin(address, network));
  return isWithin(address, PUBLIC_IPV6) && !PRIVATE_IN_IPV6.some((network) => isWithin(address, network));
}
