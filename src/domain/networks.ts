/** Which networks are the internet, and which are not: of URLs that tenants give, and of what their pods may reach. */

/** IPv4 networks that are not public (RFC 6890 and its registry; from 224.0.0.0 on nothing is). */
export const PRIVATE_IPV4: readonly string[] = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
];

/** Global unicast; outside of it are private and local addresses, and those that carry IPv4 ones (64:ff9b::/96). */
const PUBLIC_IPV6 = '2000::/3';
/** Of that, tunnels, which carry IPv4 addresses, and documents. */
const PRIVATE_IN_IPV6: readonly string[] = ['2001::/32', '2001:db8::/32', '2002::/16'];

interface Network {
  readonly cidr: string;
  readonly except: string[];
}

const isGlobalUnicast = (network: string) => /^[23][0-9a-f]{3}:/i.test(network);

/**
 * What pods may reach that nothing else names.
 * @param closed further networks that they may not
 */
export function publicNetworks(closed: readonly string[]): Network[] {
  const ipv4 = closed.filter((network) => !network.includes(':'));
  // The others are closed already, and an exception has to be within what it is one of.
  const ipv6 = closed.filter(isGlobalUnicast);
  return [
    { cidr: '0.0.0.0/0', except: [...new Set([...PRIVATE_IPV4, ...ipv4])] },
    { cidr: PUBLIC_IPV6, except: [...new Set([...PRIVATE_IN_IPV6, ...ipv6])] },
  ];
}

function ipv4Number(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
}

export function isPublicIpv4(address: string): boolean {
  const number = ipv4Number(address);
  return !PRIVATE_IPV4.some((network) => {
    const [first = '', length] = network.split('/');
    const size = 2 ** (32 - Number(length));
    const start = ipv4Number(first);
    return number >= start && number < start + size;
  });
}

/** As `publicNetworks` has it. */
export function isPublicIpv6(address: string): boolean {
  const [first = '', second = ''] = address.split(':');
  const group = Number.parseInt(first, 16);
  if (Number.isNaN(group) || group < 0x2000 || group > 0x3fff) return false;
  return group !== 0x2002 && !(group === 0x2001 && ['', '0', 'db8'].includes(second));
}
