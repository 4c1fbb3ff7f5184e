import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { GitProvider } from './git-host.ts';

/**
 * Authenticates webhook deliveries and detects repeated deliveries.
 *
 * One secret works for all schemes. GitHub (and Gitea, Forgejo) signs the body with the secret. GitLab sends the secret
 * in X-Gitlab-Token, or signs id, time and body with it as a signing token (standardwebhooks.com).
 */

export interface Delivery {
  /** Header names are in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The raw body. */
  readonly body: Buffer;
}

const HUB = 'x-hub-signature-256';
const STANDARD = 'webhook-signature';
const TOKEN = 'x-gitlab-token';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/**
 * Maximum age of a signature with a timestamp. An older delivery could repeat a delivery whose key is no longer stored.
 */
const MAX_AGE_MS = 3 * 86_400_000;

/** A new secret: 256 random bits in the form of a GitLab signing token. */
export function newWebhookSecret(): string {
  return `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`;
}

function header({ headers }: Delivery, name: string): string | null {
  const value = headers[name];
  return typeof value === 'string' && value !== '' ? value : null;
}

const digest = (data: string | Buffer) => createHash('sha256').update(data).digest();

/** Compares in constant time, independent of the length of the secret. */
const same = (given: string | Buffer, expected: string | Buffer) =>
  timingSafeEqual(digest(given), digest(expected));

/** The signature is `sha256=` and the HMAC of the body in hexadecimal. */
function signedAsByGithub(delivery: Delivery, secret: string): boolean {
  const expected = createHmac('sha256', secret).update(delivery.body).digest('hex');
  return same(header(delivery, HUB) ?? '', `sha256=${expected}`);
}

function isRecent(seconds: string, now: Date): boolean {
  return /^\d{1,12}$/.test(seconds) && Math.abs(now.getTime() - Number(seconds) * 1000) <= MAX_AGE_MS;
}

/**
 * The signature is `v1,` and the HMAC of `id.time.body` in base64. During a key rotation, the header contains several
 * signatures.
 */
function signedAsStandard(delivery: Delivery, secret: string, now: Date): boolean {
  const [id, time, signatures] = ['id', 'timestamp', 'signature'].map((name) =>
    header(delivery, `webhook-${name}`),
  );
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
  const expected = createHmac('sha256', key).update(`${id}.${time}.`).update(delivery.body).digest('base64');
  const found = (signatures ?? '').split(' ').map((signature) => same(signature, `v1,${expected}`));
  return found.includes(true) && id != null && isRecent(time ?? '', now);
}

function signedAsByGitlab(delivery: Delivery, secret: string, now: Date): boolean {
  if (header(delivery, STANDARD) !== null) return signedAsStandard(delivery, secret, now);
  return same(header(delivery, TOKEN) ?? '', secret);
}

const FORMS: Readonly<Record<GitProvider, (delivery: Delivery, secret: string, now: Date) => boolean>> = {
  github: signedAsByGithub,
  gitlab: signedAsByGitlab,
  // Other git servers use the scheme of GitHub or GitLab.
  git: (delivery, secret, now) =>
    header(delivery, HUB) === null
      ? signedAsByGitlab(delivery, secret, now)
      : signedAsByGithub(delivery, secret),
};

type Headers = Delivery['headers'];

const has = (headers: Headers, names: readonly string[]) =>
  names.some((name) => header({ headers, body: Buffer.alloc(0) }, name) !== null);

/** Headers that authenticate a delivery, by provider. */
const JUDGED_BY: Readonly<Record<GitProvider, readonly string[]>> = {
  github: [HUB],
  gitlab: [STANDARD, TOKEN],
  git: [HUB, STANDARD, TOKEN],
};

/**
 * The authentication scheme that the headers of a delivery show. `signed`: a signature of the body. `token`: a token in
 * the headers. null: the headers show no scheme.
 */
export function shownBy(headers: Headers): 'signed' | 'token' | null {
  if (has(headers, [HUB, STANDARD])) return 'signed';
  return has(headers, [TOKEN]) ? 'token' : null;
}

/** Whether the headers contain an authentication header of the provider. */
export function mayKnow(provider: GitProvider, headers: Headers): boolean {
  return has(headers, JUDGED_BY[provider]);
}

/**
 * A secret that no sender has. This secret is used if no secret is stored, so that the response takes the same time.
 */
const DUMMY_SECRET = newWebhookSecret();

/**
 * Whether a delivery is authenticated by one of the secrets.
 * @param secrets if empty, the result is false, in the same time
 */
export function isAuthentic(
  provider: GitProvider,
  delivery: Delivery,
  secrets: readonly string[],
  now: Date,
): boolean {
  const tried = secrets.length === 0 ? [DUMMY_SECRET] : secrets;
  return tried.map((secret) => FORMS[provider](delivery, secret, now)).includes(true);
}

const ID = /^[\x21-\x7e]{1,200}$/;
const IDS = ['webhook-id', 'x-github-delivery', 'idempotency-key', 'x-gitlab-event-uuid'];

/**
 * Keys that identify a delivery. A delivery that shares a key with an earlier delivery is a repetition. A signature of
 * the body alone does not cover the id, so the body is also a key. Without a signature, the key is the id together with
 * the body, because GitLab uses the id of one event for all deliveries that the event causes.
 */
export function deliveryKeys(delivery: Delivery): string[] {
  const given = IDS.map((name) => header(delivery, name)).find((id) => id !== null && ID.test(id));
  const body = `sha256:${digest(delivery.body).toString('hex')}`;
  if (given == null) return [body];
  if (header(delivery, HUB) !== null) return [given, body];
  return header(delivery, STANDARD) === null ? [`${given} ${body}`] : [given];
}
