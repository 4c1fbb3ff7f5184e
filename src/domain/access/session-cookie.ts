import { isThisMachine } from '../net/this-machine.ts';

/** Names and attributes of the cookies of sign-in, and what a request with such a cookie must state. */

/** How cookies are set under one public URL. */
export interface CookieSettings {
  /** Cookie with the id of the session. */
  readonly session: string;
  /** Cookie that binds a sign-in to the browser that started it. */
  readonly flow: string;
  /** Whether browsers send the cookies over HTTPS only. */
  readonly secure: boolean;
  /** Origin of the pages that may send changes. */
  readonly origin: string;
  /** Path of the public URL, without a slash at its end. */
  readonly prefix: string;
}

const SECURE_PREFIX = '__Host-';

/** A path as part of the name of a cookie. Different paths have different results. */
function nameOfPath(prefix: string): string {
  return prefix.replace(/[^A-Za-z0-9_-]/g, (sign) =>
    sign === '/' ? '.' : `~${sign.codePointAt(0)?.toString(16)}`,
  );
}

/** A base URL with its path in one form: without a slash at the end. */
export const prefixOf = (url: URL): string => url.pathname.replace(/\/+$/, '');

/**
 * The cookies under a public URL. null: sign-in is not possible, because there is no such URL, or because anyone on the
 * way could read the cookies.
 *
 * Browsers accept a name with the prefix `__Host-` only from the host itself, over HTTPS, and for all its paths.
 * Therefore, the name contains the path, so that several installations on one host have different cookies. Cookies do not
 * depend on the port, so the name contains it on this machine.
 */
export function cookieSettings(publicUrl: string | null): CookieSettings | null {
  if (publicUrl == null) return null;
  const url = new URL(publicUrl);
  const prefix = prefixOf(url);
  const path = nameOfPath(prefix);
  const common = { origin: url.origin, prefix };
  if (url.protocol === 'https:') {
    const name = (kind: string) => `${SECURE_PREFIX}berth-${kind}${path}`;
    return { session: name('session'), flow: name('sign-in'), secure: true, ...common };
  }
  if (!isThisMachine(url)) return null;
  const name = (kind: string) => `berth-${kind}-${url.port || '80'}${path}`;
  return { session: name('session'), flow: name('sign-in'), secure: false, ...common };
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/**
 * Whether a request that carries a cookie may have been sent by a page of another origin. Apps of tenants can be on the
 * same site as Berth, where SameSite does not hold cookies back.
 * @param origin the header Origin; undefined: absent
 */
export function isForged(
  method: string,
  origin: string | undefined,
  { origin: own }: CookieSettings,
): boolean {
  return !READS.has(method) && origin !== own;
}

/** Maximum length of a path to which the browser returns. */
const MAX_RETURN_PATH = 2_000;

/**
 * The path to which the browser returns after the sign-in, below the path of the public URL; null: the path is not
 * accepted, because it could lead to another host or to another application on this host.
 */
export function returnPath(given: string, { origin, prefix }: CookieSettings): string | null {
  if (given.length > MAX_RETURN_PATH || !/^\/(?![/\\])[\x21-\x7e]*$/.test(given) || given.includes('\\'))
    return null;
  if (!URL.canParse(given, origin)) return null;
  const url = new URL(given, origin);
  if (url.origin !== origin) return null;
  const isBelow = prefix === '' || url.pathname === prefix || url.pathname.startsWith(`${prefix}/`);
  return isBelow ? `${url.pathname}${url.search}${url.hash}` : null;
}
