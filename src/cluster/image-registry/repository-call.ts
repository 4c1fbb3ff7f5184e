import { createHash } from 'node:crypto';
import type { HostResponse, OpenResponse } from '../../outbound/call-host.ts';
import { type Call, call, openCall } from './call.ts';
import { type Challenge, parseChallenge } from './challenge.ts';
import type { Credentials } from './docker-config.ts';
import type { RegistryReference } from './reference.ts';
import { RegistryError } from './registry-error.ts';

/** Calls of one repository in a registry (OCI distribution specification), and their tokens. */

export interface RegistryOptions {
  /** Time limit for the lookup of one image, in milliseconds. */
  readonly timeoutMs: number;
  /** Registries that may have private addresses, as `host` or `host:port`; `any`: all. */
  readonly privateHosts: readonly string[] | 'any';
  /** Networks that registries outside of `privateHosts` must not be in (BERTH_CLOSED_NETWORKS). */
  readonly closedNetworks: readonly string[];
  /** Registries that are called over http. */
  readonly insecureHosts: readonly string[];
  /** PEM of the certificate authorities to trust instead of Node's own. */
  readonly ca?: string | undefined;
}

const ACCEPT = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ');
const MAX_MANIFEST_BYTES = 4 * 1024 * 1024;
const MAX_TOKEN_BYTES = 64 * 1024;
const MAX_REDIRECTS = 3;
/** Everything that the calls for one image share. */
export interface LookupContext {
  readonly reference: RegistryReference;
  readonly insecure: boolean;
  readonly mayBePrivate: boolean;
  readonly options: RegistryOptions;
  readonly signal: AbortSignal;
  /** Latest time at which `signal` fires, on the clock of performance.now(). */
  readonly endsAt: number;
  /** Whether to try a HEAD request: false after a HEAD request hung or failed. Shared by all calls for the image. */
  readonly head: { isWorthwhile: boolean };
  /** Called for each response. */
  readonly onResponse?: () => void;
}

/** The value of an authorization header. */
export const basic = ({ username, password }: Credentials) =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;

function callOptions(
  context: LookupContext,
  headers: Call['headers'],
  maxBytes: number,
): Omit<Call, 'method'> {
  const { mayBePrivate, insecure, options, onResponse } = context;
  const addresses = { allowPrivate: mayBePrivate, closedNetworks: options.closedNetworks };
  return { headers, maxBytes, addresses, allowHttp: insecure, ca: options.ca, onResponse };
}

/** Parses a URL and checks its scheme. A registry with TLS must not lead to a URL without TLS. */
function calledUrl(text: string, base: string | undefined, context: LookupContext): URL {
  const url = URL.canParse(text, base) ? new URL(text, base) : null;
  const allowed = url?.protocol === 'https:' || (context.insecure && url?.protocol === 'http:');
  if (url === null || !allowed) {
    throw new RegistryError('unsupported', `${context.reference.host} refers to a URL that is not https`);
  }
  url.username = '';
  url.password = '';
  return url;
}

/** The manifest of the image. */
export function manifest(
  context: LookupContext,
  method: Call['method'],
  authorization?: string,
): Promise<HostResponse> {
  return callRepository(context, method, `manifests/${context.reference.reference}`, authorization);
}

/** Statuses of a HEAD after which no GET is sent, because the result is known, or another call would not help now. */
const SETTLED_BY_HEAD: ReadonlySet<number> = new Set([200, 429, 502, 503, 504]);

const asksForCredentials = ({ status, headers }: HostResponse) =>
  status === 401 && headers['www-authenticate'] !== undefined;

/**
 * Reads the manifest by HEAD, or by GET when the registry rejects HEAD. Registries and proxies reject the method in
 * many ways (405, 501, 400, 403, 404, a 401 without a challenge), so only the response to a GET counts as a refusal.
 * Some registries never respond to a HEAD, so the HEAD gets half of the time, and the GET gets the rest.
 */
export async function headOrGetManifest(
  context: LookupContext,
  authorization?: string,
): Promise<HostResponse> {
  const answer = context.head.isWorthwhile ? await headManifest(context, authorization) : null;
  if (answer !== null && (SETTLED_BY_HEAD.has(answer.status) || asksForCredentials(answer))) return answer;
  return await manifest(context, 'GET', authorization);
}

/** null: no response within half of the remaining time. */
async function headManifest(context: LookupContext, authorization?: string): Promise<HostResponse | null> {
  const half = AbortSignal.timeout(Math.max(1, Math.floor((context.endsAt - performance.now()) / 2)));
  try {
    return await manifest(
      { ...context, signal: AbortSignal.any([context.signal, half]) },
      'HEAD',
      authorization,
    );
  } catch (error) {
    context.signal.throwIfAborted();
    if (!half.aborted) throw error;
    context.head.isWorthwhile = false;
    return null;
  }
}

const DIGEST = /^sha256:[0-9a-f]{64}$/;

/** The digest in the response header; null when it is missing or invalid. */
export function statedDigest({ headers }: HostResponse): string | null {
  const stated = headers['docker-content-digest'];
  return typeof stated === 'string' && DIGEST.test(stated) ? stated : null;
}

/** The digest of the manifest in the body; null when the body is not a manifest, such as an error page. */
export function computedDigest({ body }: HostResponse): string | null {
  const isManifest = Object.keys(parsed(body)).length > 0;
  return isManifest ? `sha256:${createHash('sha256').update(body).digest('hex')}` : null;
}

export const REDIRECTS = [301, 302, 303, 307, 308];

interface Redirect {
  readonly location: string;
}

const isRedirect = (answer: object): answer is Redirect => 'location' in answer;

/**
 * Calls a path below the repository, and follows redirects. Credentials are not sent to another host after a redirect.
 * @param send sends one call. An object with `location`: a redirect
 */
async function followed<T extends object>(
  context: LookupContext,
  path: string,
  authorization: string | undefined,
  send: (url: URL, headers: Call['headers']) => Promise<T | Redirect>,
): Promise<T> {
  const { apiHost, repository, host } = context.reference;
  const first = `${context.insecure ? 'http' : 'https'}://${apiHost}/v2/${repository}/${path}`;
  let url = calledUrl(first, undefined, context);
  const { origin } = url;
  for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
    const own = url.origin === origin && authorization !== undefined;
    const answer = await send(url, { accept: ACCEPT, ...(own ? { authorization } : {}) });
    if (!isRedirect(answer)) return answer;
    url = calledUrl(answer.location, url.href, context);
  }
  throw new RegistryError('unsupported', `${host} redirects too many times`);
}

/** Where a response redirects to; null: it does not. */
const redirectOf = ({ status, headers: { location } }: Omit<HostResponse, 'body'>): Redirect | null =>
  REDIRECTS.includes(status) && location !== undefined ? { location } : null;

/** Calls a path below the repository. Credentials are not sent to another host after a redirect. */
export function callRepository(
  context: LookupContext,
  method: Call['method'],
  path: string,
  authorization?: string,
): Promise<HostResponse> {
  return followed(context, path, authorization, async (url, headers) => {
    const options = { method, ...callOptions(context, headers, MAX_MANIFEST_BYTES) };
    const answer = await call(url, options, context.signal);
    return redirectOf(answer) ?? answer;
  });
}

/** Reads a path below the repository as a stream. Credentials are not sent to another host after a redirect. */
export function openRepository<T>(
  context: LookupContext,
  path: string,
  authorization: string | undefined,
  read: (response: OpenResponse) => Promise<T>,
): Promise<{ readonly value: T }> {
  return followed(context, path, authorization, (url, headers) =>
    openCall(
      url,
      { method: 'GET', ...callOptions(context, headers, MAX_MANIFEST_BYTES) },
      context.signal,
      async (response) => redirectOf(response) ?? { value: await read(response) },
    ),
  );
}

/** Upper limit for the Retry-After of a registry. */
const MAX_PATIENCE_MS = 300_000;

function patienceOf({ headers }: HostResponse): number | undefined {
  const seconds = Number(headers['retry-after']);
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds * 1000, MAX_PATIENCE_MS) : undefined;
}

/** The error for a response that is neither success nor "not found". */
export function registryFailure(answer: HostResponse, who: string): RegistryError {
  const { status } = answer;
  if (status === 401 || status === 403)
    return new RegistryError('refused', `${who} denies access (status ${status})`);
  if (status === 429) {
    return new RegistryError('limited', `${who} limits the rate of requests`, patienceOf(answer));
  }
  const message = `${who} responds with status ${status}`;
  return status >= 500
    ? new RegistryError('failing', message, patienceOf(answer))
    : new RegistryError('unsupported', message);
}

/** Parses a body as a JSON object; anything else yields an empty object. */
export function parsed(body: Buffer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/**
 * Obtains a token to pull from the repository. The password is sent only to the realm that the registry names, and
 * only over TLS.
 */
async function tokenFor(
  context: LookupContext,
  { realm, service }: Extract<Challenge, { scheme: 'bearer' }>,
  credentials: Credentials | null,
): Promise<string> {
  const url = calledUrl(realm, undefined, context);
  if (service !== null) url.searchParams.set('service', service);
  url.searchParams.set('scope', `repository:${context.reference.repository}:pull`);
  const headers: Call['headers'] = credentials === null ? {} : { authorization: basic(credentials) };
  const answer = await call(
    url,
    { method: 'GET', ...callOptions(context, headers, MAX_TOKEN_BYTES) },
    context.signal,
  );
  if (answer.status !== 200) throw registryFailure(answer, `its token server ${url.host}`);
  const { token, access_token: accessToken } = parsed(answer.body);
  const given = typeof token === 'string' && token !== '' ? token : accessToken;
  if (typeof given !== 'string' || !/^[\x21-\x7e]+$/.test(given)) {
    throw new RegistryError('unsupported', `${url.host} returned no valid token`);
  }
  return given;
}

/** The authorization header that a challenge requires; null when no suitable credentials exist. */
export async function authorizationFor(
  context: LookupContext,
  unauthorized: HostResponse,
  credentials: Credentials | null,
): Promise<string | null> {
  const challenge = parseChallenge(unauthorized.headers['www-authenticate']);
  if (challenge === null) return null;
  if (challenge.scheme === 'bearer') return `Bearer ${await tokenFor(context, challenge, credentials)}`;
  return credentials === null ? null : basic(credentials);
}
