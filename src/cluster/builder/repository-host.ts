import { isIP } from 'node:net';
import { callHost, type HostResponse } from '../../outbound/call-host.ts';
import { HostError } from '../../outbound/host-error.ts';
import { type HostAddress, resolveHost } from '../../outbound/resolve-host.ts';
import { authorities } from './authorities.ts';
import { StepFailure } from './step-failure.ts';

/**
 * Finds the actual location of a repository: resolves its name once, checks the addresses, and follows redirects
 * within the host. Git itself then follows no redirect and resolves no name, so the location cannot change between
 * check and use.
 */

export interface HostSettings {
  /** Private and loopback addresses may be called. */
  readonly allowPrivate: boolean;
  /** PEM file of additional certificate authorities. */
  readonly caFile: string | null;
  /** Sent only when the host requests them; null: never sent. */
  readonly credentials: { readonly username: string; readonly token: string } | null;
  /** Timeout of the whole search, in milliseconds. */
  readonly timeoutMs: number;
}

export interface RepositoryPlace {
  /** https URL to clone. */
  readonly url: string;
  /** `https://host:port`, in the form that git compares. */
  readonly host: string;
  /** Value of http.curloptResolve; null when the host is an IP address. */
  readonly resolve: string | null;
}

const ANSWER_MS = 30_000;
const MAX_REDIRECTS = 5;

const bare = (hostname: string) => hostname.replace(/^\[|\]$/g, '');

/** The failure of a call or lookup. Anything but a HostError is the reason of a timeout. */
function callFailure(error: unknown, { host, hostname }: URL): StepFailure {
  const { failure, code } = error instanceof HostError ? error : { failure: 'timeout', code: '' };
  if (failure === 'closed_address') {
    const message = `${bare(hostname)} is at a private address, which this installation does not call`;
    return new StepFailure('GitHostRefused', message);
  }
  if (failure === 'unresolved') {
    return new StepFailure('GitHostUnavailable', `the name ${hostname} cannot be resolved (${code})`, {
      passing: code !== 'ENOTFOUND',
      cause: error,
    });
  }
  const why = failure === 'timeout' ? 'no answer in time' : code;
  return new StepFailure('GitHostUnavailable', `${host} cannot be reached (${why})`, {
    passing: true,
    cause: error,
  });
}

/** Sends the first request that git would send. The response body is not read. */
function ask(
  url: URL,
  addresses: readonly HostAddress[],
  settings: HostSettings,
  withToken: boolean,
): Promise<HostResponse> {
  const { credentials, caFile, timeoutMs } = settings;
  const token = withToken && credentials !== null ? `${credentials.username}:${credentials.token}` : null;
  const headers = {
    'user-agent': 'git/2 (berth)',
    'git-protocol': 'version=2',
    ...(token === null ? {} : { authorization: `Basic ${Buffer.from(token).toString('base64')}` }),
  };
  return callHost(
    url,
    { method: 'GET', headers, addresses, maxBytes: 0, readsBody: () => false, ca: authorities(caFile) },
    AbortSignal.timeout(Math.min(timeoutMs, ANSWER_MS)),
  ).catch((error) => {
    throw callFailure(error, url);
  });
}

const isRedirect = (status: number) => [301, 302, 303, 307, 308].includes(status);

const SERVICE = '/info/refs';
const serviceUrl = (repository: URL) =>
  new URL(`${repository.pathname.replace(/\/+$/, '')}${SERVICE}?service=git-upload-pack`, repository.origin);

/**
 * The repository that a redirect of its service points to.
 * @throws StepFailure when it points elsewhere
 */
function redirected(from: URL, repository: URL, location: string | undefined): URL {
  const to = location !== undefined && URL.canParse(location, from.href) ? new URL(location, from) : null;
  if (to === null || !to.pathname.endsWith(SERVICE)) {
    const message = `${repository.href} is not a repository: its host redirects elsewhere`;
    throw new StepFailure('GitHostRefused', message);
  }
  if (to.origin !== repository.origin) {
    const message = `${repository.href} has moved to another host, ${to.host}; set repo_url to its new URL`;
    throw new StepFailure('GitHostRefused', message);
  }
  return new URL(to.pathname.slice(0, -SERVICE.length), to.origin);
}

function refusal(repository: URL, status: number, withToken: boolean): StepFailure {
  if (status === 429 || status >= 500) {
    const message = `${repository.host} answers with status ${status}`;
    return new StepFailure('GitHostUnavailable', message, { passing: true });
  }
  const who = withToken
    ? 'the repository does not exist, or the credentials of the integration do not allow access'
    : 'the repository does not exist, or it is private and the deployment has no integration for its host';
  return new StepFailure('GitHostRefused', `${repository.href}: ${who} (status ${status})`);
}

/**
 * Finds the location of a repository and checks that it can be read.
 * @param repoUrl https, without credentials
 * @throws StepFailure GitHostRefused, GitHostUnavailable (`passing` when another attempt may help)
 */
export async function findRepository(repoUrl: string, settings: HostSettings): Promise<RepositoryPlace> {
  let repository = URL.canParse(repoUrl) ? new URL(repoUrl) : null;
  if (repository === null || repository.protocol !== 'https:' || repository.username !== '') {
    throw new StepFailure('GitHostRefused', 'repo_url must be an https URL without credentials in it');
  }
  const checked = repository;
  const addresses = await resolveHost(
    checked.hostname,
    settings,
    AbortSignal.timeout(settings.timeoutMs),
  ).catch((error) => {
    throw callFailure(error, checked);
  });
  let withToken = false;
  for (let asked = 0; asked <= MAX_REDIRECTS; asked += 1) {
    const url = serviceUrl(repository);
    const { status, headers } = await ask(url, addresses, settings, withToken);
    if (status === 200) return placeOf(repository, addresses);
    if (isRedirect(status)) repository = redirected(url, repository, headers.location);
    else if (status === 401 && !withToken && settings.credentials !== null) withToken = true;
    else throw refusal(repository, status, withToken);
  }
  throw new StepFailure('GitHostRefused', `${repoUrl} redirects too many times`);
}

function placeOf(repository: URL, addresses: readonly HostAddress[]): RepositoryPlace {
  const { hostname, port, origin, href } = repository;
  const literal = isIP(bare(hostname)) !== 0;
  const addressList = addresses
    .map(({ address, family }) => (family === 6 ? `[${address}]` : address))
    .join(',');
  return {
    url: href,
    host: origin,
    resolve: literal ? null : `${hostname}:${port === '' ? 443 : port}:${addressList}`,
  };
}
