import { isIP } from 'node:net';
import { callHost, type HostResponse } from './call-host.ts';
import { type AddressRules, type HostAddress, resolveHost } from './resolve-host.ts';

/**
 * Finds the actual location of a git repository: resolves its name once, checks the addresses, and follows redirects
 * within the host. Git itself then follows no redirect and resolves no name, so the location cannot change between check
 * and use.
 */

export interface LookupOptions {
  readonly addresses: AddressRules;
  /** PEM of the certificate authorities to trust instead of Node's own. */
  readonly ca?: string[] | undefined;
  /** null: the repository is read without credentials. */
  readonly credentials: { readonly username: string; readonly token: string } | null;
  /** Whether the first request has the credentials. Otherwise they are sent when the host requests them. */
  readonly sendsTokenFirst: boolean;
}

export interface RepositoryPlace {
  /** https URL of the repository. */
  readonly url: string;
  /** `https://host:port`, in the form that git compares. */
  readonly host: string;
  /** Value of http.curloptResolve; null when the host is an IP address. */
  readonly resolve: string | null;
}

/**
 * `moved`: a redirect leads to another host, or with `host` null to something that is not a repository. `failed`: the host
 * responded with an error.
 */
export type RepositoryLookup =
  | { readonly kind: 'found'; readonly place: RepositoryPlace; readonly response: HostResponse }
  | {
      readonly kind: 'moved';
      readonly repository: URL;
      readonly host: string | null;
      readonly response: HostResponse;
    }
  | { readonly kind: 'too_many_redirects'; readonly response: HostResponse }
  | {
      readonly kind: 'failed';
      readonly repository: URL;
      readonly response: HostResponse;
      readonly withToken: boolean;
    };

const RESPONSE_MS = 30_000;
const MAX_REDIRECTS = 3;
const SERVICE = '/info/refs';

const isRedirect = (status: number) => [301, 302, 303, 307, 308].includes(status);

const serviceUrl = (repository: URL) =>
  new URL(`${repository.pathname.replace(/\/+$/, '')}${SERVICE}?service=git-upload-pack`, repository.origin);

/** Sends the first request that git would send. The body of the response is not read. */
function ask(
  url: URL,
  addresses: readonly HostAddress[],
  { credentials, ca }: LookupOptions,
  withToken: boolean,
  signal: AbortSignal,
): Promise<HostResponse> {
  const token = withToken && credentials !== null ? `${credentials.username}:${credentials.token}` : null;
  const headers = {
    'user-agent': 'git/2 (berth)',
    'git-protocol': 'version=2',
    ...(token === null ? {} : { authorization: `Basic ${Buffer.from(token).toString('base64')}` }),
  };
  return callHost(
    url,
    { method: 'GET', headers, addresses, maxBytes: 0, readsBody: () => false, ca },
    AbortSignal.any([signal, AbortSignal.timeout(RESPONSE_MS)]),
  );
}

/** Follows a redirect of the service of a repository within its host. */
function follow(from: URL, repository: URL, response: HostResponse): URL | RepositoryLookup {
  const { location } = response.headers;
  const to = location !== undefined && URL.canParse(location, from.href) ? new URL(location, from) : null;
  if (to === null || !to.pathname.endsWith(SERVICE)) {
    return { kind: 'moved', repository, host: null, response };
  }
  if (to.origin !== repository.origin) return { kind: 'moved', repository, host: to.host, response };
  return new URL(to.pathname.slice(0, -SERVICE.length), to.origin);
}

function placeOf({ hostname, port, origin, href }: URL, addresses: readonly HostAddress[]): RepositoryPlace {
  const literal = isIP(hostname.replace(/^\[|\]$/g, '')) !== 0;
  const list = addresses.map(({ address, family }) => (family === 6 ? `[${address}]` : address)).join(',');
  return {
    url: href,
    host: origin,
    resolve: literal ? null : `${hostname}:${port === '' ? 443 : port}:${list}`,
  };
}

/**
 * Finds the location of a repository and checks that it can be read.
 * @param repoUrl https, without credentials
 * @param signal bounds the whole search
 * @throws HostError; the reason of a signal
 */
export async function findRepository(
  repoUrl: URL,
  access: LookupOptions,
  signal: AbortSignal,
): Promise<RepositoryLookup> {
  const addresses = await resolveHost(repoUrl.hostname, access.addresses, signal);
  let repository = repoUrl;
  let withToken = access.sendsTokenFirst && access.credentials !== null;
  for (let redirects = 0; ; ) {
    const url = serviceUrl(repository);
    const response = await ask(url, addresses, access, withToken, signal);
    const { status } = response;
    if (status === 200) return { kind: 'found', place: placeOf(repository, addresses), response };
    if (status === 401 && !withToken && access.credentials !== null) {
      withToken = true;
      continue;
    }
    if (!isRedirect(status)) return { kind: 'failed', repository, response, withToken };
    const next = follow(url, repository, response);
    if (!(next instanceof URL)) return next;
    if (redirects === MAX_REDIRECTS) return { kind: 'too_many_redirects', response };
    redirects += 1;
    repository = next;
  }
}
