import { isIP } from 'node:net';
import { z } from 'zod';
import { normalQuantity, parseQuantity } from '../domain/kubernetes/quantity.ts';
import { addressNumber, isProviderNetwork, networkSize, PROVIDER_NETWORKS } from '../domain/net/networks.ts';

/** Schemas of the texts of variables. An unset variable is undefined. */
export const optional = z.string().optional();
export const csv = z
  .string()
  .optional()
  .transform((text) =>
    (text ?? '')
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  );
export const port = (fallback: number) => z.coerce.number().int().min(0).max(65_535).default(fallback);
export const count = (fallback: number, least = 1) => z.coerce.number().int().min(least).default(fallback);
export const flag = z
  .enum(['true', 'false'])
  .optional()
  .transform((value) => (value === undefined ? undefined : value === 'true'));

/** An amount of bytes as a Kubernetes quantity, in its normal form. null: `none`. */
export const bytes = (fallback: string) =>
  z
    .string()
    .default(fallback)
    .refine(
      (text) => text === 'none' || (parseQuantity(text) ?? 0n) > 0n,
      'must be a quantity above 0, such as 64Mi or 50Gi, or none',
    )
    .transform((text) => (text === 'none' ? null : String(normalQuantity(text))));

/** Why a text is not a URL that Berth or the pods may call. null: it is such a URL. */
function urlProblem(text: string): string | null {
  if (/\s/.test(text) || !URL.canParse(text)) return 'is not a URL';
  const { protocol, username, password, search, hash } = new URL(text);
  if (protocol !== 'https:' && protocol !== 'http:') return 'is not http or https';
  if (username !== '' || password !== '') return 'contains a user or password; use the setting for the token';
  return search === '' && hash === '' ? null : "must not contain '?' or '#'";
}
/** A base URL without credentials. The host of the URL may be on a private network. */
export const baseUrl = z
  .string()
  .superRefine((text, ctx) => {
    const message = urlProblem(text);
    if (message !== null) {
      ctx.addIssue({
        code: 'custom',
        message: `${message}; next: set it to a URL such as https://host/path`,
      });
    }
  })
  .optional();

/** Addresses of DNS servers, with an optional port: `10.0.0.10`, `10.0.0.10:53`, `[fd00::10]:53`. */
export const nameServers = csv.refine(
  (parts) => parts.every(isNameServer),
  'must be addresses of DNS servers such as 10.0.0.10 or 10.0.0.10:53, comma-separated',
);

function isNameServer(text: string): boolean {
  if (isIP(text) !== 0) return true;
  const [, v6, v4, port = ''] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? [];
  return isIP(v6 ?? v4 ?? '') === (v6 === undefined ? 4 : 6) && Number(port) >= 1 && Number(port) <= 65_535;
}

function isNetwork(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/');
  const family = isIP(address);
  if (family === 0 || more.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

/**
 * Addresses and networks of proxies. A number of proxies would not be sufficient, because a client that bypasses the
 * proxies could forge addresses.
 */
export const proxies = csv.refine(
  (parts) => parts.every(isNetwork),
  'must be addresses or networks such as 10.0.0.0/8, comma-separated',
);

/**
 * Whether an address is the first address of its network. Kubernetes 1.36 and later reject other addresses in a policy.
 */
const isFirst = (address: string, bits: number): boolean =>
  addressNumber(address) % networkSize(address, bits) === 0n;

/** Whether a text is a network that a NetworkPolicy accepts, and does not contain all addresses. */
function isPartialNetwork(text: string): boolean {
  const [address = '', bits = ''] = text.split('/');
  const least = isIP(address) === 4 ? 1 : 4;
  // IPv6 zones and IPv4-mapped IPv6 addresses are not valid.
  const isPlain = isIP(address) === 4 || /^(?!::ffff:)[0-9a-f:]+$/i.test(address);
  return bits !== '' && isPlain && isNetwork(text) && Number(bits) >= least && isFirst(address, Number(bits));
}

/** Networks that a NetworkPolicy may list in `except`. */
export const networks = csv.refine(
  (parts) => parts.every(isPartialNetwork),
  'must be networks, each with its first address, such as 203.0.113.0/24, comma-separated. A network of all addresses is not valid',
);

/** Provider networks, or parts of them, that a platform opens. */
export const providerNetworks = networks.refine(
  (parts) => parts.every((part) => !isPartialNetwork(part) || isProviderNetwork(part)),
  `must be within ${PROVIDER_NETWORKS.join(', ')}: other networks cannot be opened`,
);
