import { createHash } from 'node:crypto';
import { type Answer, type Call, call } from './call.ts';
import { type Challenge, parseChallenge } from './challenge.ts';
import type { Credentials } from './docker-config.ts';
import type { RegistryReference } from './reference.ts';
import { RegistryError } from './registry-error.ts';

/** Calls of one repository of a registry (OCI distribution specification), and the tokens that they need. */

export interface RegistryOptions {
  /** Longest that one image is asked for, in milliseconds. */
  readonly timeoutMs: number;
  /** Registries that may be at private addresses, as `host` or `host:port`; `any`: all. */
  readonly privateHosts: readonly string[] | 'any';
  /** Registries that are called by http. */
  readonly insecureHosts: readonly string[];
  /** PEM of the authorities to trust in place of Node's own. */
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
/** All that concerns the one registry that is asked. */
export interface Asked {
  readonly reference: RegistryReference;
  readonly insecure: boolean;
  readonly mayBePrivate: boolean;
  readonly options: RegistryOptions;
  readonly signal: AbortSignal;
  /** When `signal` ends it at the latest, as performance.now() counts. */
  readonly endsAt: number;
  /** Whether a HEAD is worth a call: false once one hung or failed. Shared by all calls for the image. */
  readonly head: { isWorthwhile: boolean };
  /** Told whenever anything is answered. */
  readonly onAnswer?: () => void;
}

/** The value of an authorization header. */
export const basic = ({ username, password }: Credentials) =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;

function callOptions(asked: Asked, headers: Call['headers'], maxBytes: number): Omit<Call, 'method'> {
  const { mayBePrivate, options, onAnswer } = asked;
  return { headers, maxBytes, mayBePrivate, ca: options.ca, onAnswer };
}

/** As a URL with a scheme that may be called; a registry with TLS leads nobody away from it. */
function calledUrl(text: string, base: string | undefined, asked: Asked): URL {
  const url = URL.canParse(text, base) ? new URL(text, base) : null;
  const allowed = url?.protocol === 'https:' || (asked.insecure && url?.protocol === 'http:');
  if (url === null || !allowed) {
    throw new RegistryError('unsupported', `${asked.reference.host} leads to a URL that is not https`);
  }
  url.username = '';
  url.password = '';
  return url;
}

/** The manifest of the image. */
export function manifest(asked: Asked, method: Call['method'], authorization?: string): Promise<Answer> {
  return callRepository(asked, method, `manifests/${asked.reference.reference}`, authorization);
}

/** A HEAD with one of these is answered as a GET would be: what was asked is known, or another call now would not help. */
const SETTLED_BY_HEAD: ReadonlySet<number> = new Set([200, 429, 502, 503, 504]);

const asksForCredentials = ({ status, headers }: Answer) =>
  status === 401 && headers['www-authenticate'] !== undefined;

/**
 * The manifest by HEAD, or by GET where the registry does not take a HEAD. Registries and proxies refuse the method in
 * many ways (405, 501, 400, 403, 404, a 401 without a challenge), so only the answer to a GET counts as a refusal. Some
 * leave a HEAD without an answer: it gets half of the time, the GET the rest.
 */
export async function headOrGetManifest(asked: Asked, authorization?: string): Promise<Answer> {
  const answer = asked.head.isWorthwhile ? await headManifest(asked, authorization) : null;
  if (answer !== null && (SETTLED_BY_HEAD.has(answer.status) || asksForCredentials(answer))) return answer;
  return await manifest(asked, 'GET', authorization);
}

/** null: no answer came within half of the time that is left. */
async function headManifest(asked: Asked, authorization?: string): Promise<Answer | null> {
  const half = AbortSignal.timeout(Math.max(1, Math.floor((asked.endsAt - performance.now()) / 2)));
  try {
    return await manifest({ ...asked, signal: AbortSignal.any([asked.signal, half]) }, 'HEAD', authorization);
  } catch (error) {
    asked.signal.throwIfAborted();
    if (!half.aborted) throw error;
    asked.head.isWorthwhile = false;
    return null;
  }
}

const DIGEST = /^sha256:[0-9a-f]{64}$/;

/** The digest that the registry states in a header; null: it states none that can be read. */
export function statedDigest({ headers }: Answer): string | null {
  const stated = headers['docker-content-digest'];
  return typeof stated === 'string' && DIGEST.test(stated) ? stated : null;
}

/** The digest of a manifest in a body; null: the body holds no manifest, but an error page or nothing. */
export function computedDigest({ body }: Answer): string | null {
  const isManifest = Object.keys(parsed(body)).length > 0;
  return isManifest ? `sha256:${createHash('sha256').update(body).digest('hex')}` : null;
}

/** What lies at a path below the repository. Credentials do not follow to another host. */
export async function callRepository(
  asked: Asked,
  method: Call['method'],
  path: string,
  authorization?: string,
): Promise<Answer> {
  const { apiHost, repository } = asked.reference;
  const first = `${asked.insecure ? 'http' : 'https'}://${apiHost}/v2/${repository}/${path}`;
  let url = calledUrl(first, undefined, asked);
  const { origin } = url;
  for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
    const own = url.origin === origin && authorization !== undefined;
    const headers = { accept: ACCEPT, ...(own ? { authorization } : {}) };
    const answer = await call(
      url,
      { method, ...callOptions(asked, headers, MAX_MANIFEST_BYTES) },
      asked.signal,
    );
    const { location } = answer.headers;
    if (![301, 302, 303, 307, 308].includes(answer.status) || location === undefined) return answer;
    url = calledUrl(location, url.href, asked);
  }
  throw new RegistryError('unsupported', `${asked.reference.host} redirects without end`);
}

/** Longest that a registry is believed when it asks for patience. */
const MAX_PATIENCE_MS = 300_000;

function patienceOf({ headers }: Answer): number | undefined {
  const seconds = Number(headers['retry-after']);
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds * 1000, MAX_PATIENCE_MS) : undefined;
}

/** What a status means that is no answer. */
export function failureOf(answer: Answer, who: string): RegistryError {
  const { status } = answer;
  if (status === 401 || status === 403)
    return new RegistryError('refused', `${who} refuses (status ${status})`);
  if (status === 429) {
    return new RegistryError('limited', `${who} takes no more requests for now`, patienceOf(answer));
  }
  const message = `${who} answers with status ${status}`;
  return status >= 500
    ? new RegistryError('failing', message, patienceOf(answer))
    : new RegistryError('unsupported', message);
}

/** A body as an object; what is none is empty. */
export function parsed(body: Buffer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** A token to pull from the repository. The password goes to the realm that the registry names, and only encrypted. */
async function tokenFor(
  asked: Asked,
  { realm, service }: Extract<Challenge, { scheme: 'bearer' }>,
  credentials: Credentials | null,
): Promise<string> {
  const url = calledUrl(realm, undefined, asked);
  if (service !== null) url.searchParams.set('service', service);
  url.searchParams.set('scope', `repository:${asked.reference.repository}:pull`);
  const headers: Call['headers'] = credentials === null ? {} : { authorization: basic(credentials) };
  const answer = await call(
    url,
    { method: 'GET', ...callOptions(asked, headers, MAX_TOKEN_BYTES) },
    asked.signal,
  );
  if (answer.status !== 200) throw failureOf(answer, `${url.host}, which gives tokens for it,`);
  const { token, access_token: accessToken } = parsed(answer.body);
  const given = typeof token === 'string' && token !== '' ? token : accessToken;
  if (typeof given !== 'string' || !/^[\x21-\x7e]+$/.test(given)) {
    throw new RegistryError('unsupported', `${url.host} gives no token that can be read`);
  }
  return given;
}

/** What a call has to carry, by what the registry asked for; null: it asks for what nobody has. */
export async function authorizationFor(
  asked: Asked,
  unauthorized: Answer,
  credentials: Credentials | null,
): Promise<string | null> {
  const challenge = parseChallenge(unauthorized.headers['www-authenticate']);
  if (challenge === null) return null;
  if (challenge.scheme === 'bearer') return `Bearer ${await tokenFor(asked, challenge, credentials)}`;
  return credentials === null ? null : basic(credentials);
}
