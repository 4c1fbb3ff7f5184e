import { lookup } from 'node:dns/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { request } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { isPublicAddress } from '../../domain/net/networks.ts';
import { authorities } from './authorities.ts';
import { StepFailure } from './step-failure.ts';

/**
 * Finds the actual location of a repository: resolves its name once, checks the addresses, and follows redirects within
 * the host. Git itself follows no redirect and resolves no name, so the location cannot change between check and use.
 */

export interface HostSettings {
  /** Private and loopback addresses may be called. */
  readonly allowPrivate: boolean;
  /** PEM file of additional certificate authorities. */
  readonly caFile: string | null;
  /** Sent only when the host requests credentials; null: never sent. */
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

async function addressesOf(url: URL, allowPrivate: boolean): Promise<string[]> {
  const hostname = bare(url.hostname);
  const literal = isIP(hostname) !== 0;
  let addresses: string[];
  try {
    addresses = literal ? [hostname] : (await lookup(hostname, { all: true })).map(({ address }) => address);
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown';
    throw new StepFailure('GitHostUnavailable', `the name ${hostname} cannot be resolved (${code})`, {
      passing: code !== 'ENOTFOUND',
      cause,
    });
  }
  if (allowPrivate || addresses.every(isPublicAddress)) return addresses;
  const message = `${hostname} has a private address, and this installation does not call private addresses`;
  throw new StepFailure('GitHostRefused', message);
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

/** Sends the first request that git would send. The response body is not read. */
function ask(url: URL, addresses: readonly string[], settings: HostSettings, withToken: boolean) {
  const known = addresses.map((address) => ({ address, family: isIP(address) }));
  const pinned: LookupFunction = (_host, options, callback) => {
    const [first = { address: '', family: 4 }] = known;
    if (options.all === true) callback(null, known);
    else callback(null, first.address, first.family);
  };
  const { credentials, caFile } = settings;
  const token = withToken && credentials !== null ? `${credentials.username}:${credentials.token}` : null;
  return new Promise<Answer>((resolve, reject) => {
    const question = request(url, {
      agent: false,
      lookup: pinned,
      signal: AbortSignal.timeout(Math.min(settings.timeoutMs, ANSWER_MS)),
      headers: {
        'user-agent': 'git/2 (berth)',
        'git-protocol': 'version=2',
        ...(token === null ? {} : { authorization: `Basic ${Buffer.from(token).toString('base64')}` }),
      },
      ca: authorities(caFile),
    });
    question.once('response', (response) => {
      resolve({ status: response.statusCode ?? 0, headers: response.headers });
      response.destroy();
    });
    question.once('error', (error: NodeJS.ErrnoException) => {
      const why =
        error.code === 'ABORT_ERR'
          ? 'no response within the time limit'
          : (error.code ?? 'the connection failed');
      const message = `${url.host} cannot be reached (${why})`;
      reject(new StepFailure('GitHostUnavailable', message, { passing: true, cause: error }));
    });
    question.end();
  });
}

const isRedirect = (status: number) => [301, 302, 303, 307, 308].includes(status);

const SERVICE = '/info/refs';
const serviceUrl = (repository: URL) =>
  new URL(`${repository.pathname.replace(/\/+$/, '')}${SERVICE}?service=git-upload-pack`, repository.origin);

/**
 * The repository that a redirect of the git service points to.
 * @throws StepFailure when the redirect points to another host, or not to a git service
 */
function redirected(from: URL, repository: URL, location: string | undefined): URL {
  const to = location !== undefined && URL.canParse(location, from.href) ? new URL(location, from) : null;
  if (to === null || !to.pathname.endsWith(SERVICE)) {
    const message = `${repository.href} is not a repository: its host redirects to another page`;
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
    const message = `${repository.host} responds with status ${status}`;
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
    throw new StepFailure('GitHostRefused', 'repo_url must be an https URL without credentials');
  }
  const addresses = await addressesOf(repository, settings.allowPrivate);
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

function placeOf(repository: URL, addresses: readonly string[]): RepositoryPlace {
  const { hostname, port, origin, href } = repository;
  const literal = isIP(bare(hostname)) !== 0;
  const addressList = addresses.map((address) => (isIP(address) === 6 ? `[${address}]` : address)).join(',');
  return {
    url: href,
    host: origin,
    resolve: literal ? null : `${hostname}:${port === '' ? 443 : port}:${addressList}`,
  };
}
