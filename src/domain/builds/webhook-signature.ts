import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { GitProvider } from './git-host.ts';

/**
 * Whether a delivery of a webhook is from whom it says, and what it is told apart by.
 *
 * One secret serves every form: GitHub (and Gitea, Forgejo) signs the body with it, GitLab sends it as it is in
 * X-Gitlab-Token or, as its signing token, signs id, time and body with it (standardwebhooks.com).
 */

export interface Delivery {
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** As it came, byte for byte. */
  readonly body: Buffer;
}

const HUB = 'x-hub-signature-256';
const STANDARD = 'webhook-signature';
const TOKEN = 'x-gitlab-token';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** Of a signature that carries its time: an older one may be a repetition that is not remembered any more. */
const MAX_AGE_MS = 3 * 86_400_000;

/** A new secret: 256 random bits in the form that GitLab wants for a signing token. */
export function newWebhookSecret(): string {
  return `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`;
}

function header({ headers }: Delivery, name: string): string | null {
  const value = headers[name];
  return typeof value === 'string' && value !== '' ? value : null;
}

const digest = (data: string | Buffer) => createHash('sha256').update(data).digest();

/** In a time that says nothing of where they differ, nor of how long the secret is. */
const same = (given: string | Buffer, expected: string | Buffer) =>
  timingSafeEqual(digest(given), digest(expected));

/** `sha256=` and the HMAC of the body, hexadecimal. */
function signedAsByGithub(delivery: Delivery, secret: string): boolean {
  const expected = createHmac('sha256', secret).update(delivery.body).digest('hex');
  return same(header(delivery, HUB) ?? '', `sha256=${expected}`);
}

function isRecent(seconds: string, now: Date): boolean {
  return /^\d{1,12}$/.test(seconds) && Math.abs(now.getTime() - Number(seconds) * 1000) <= MAX_AGE_MS;
}

/** `v1,` and the HMAC of `id.time.body` in base64; several stand side by side while a key changes. */
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
  // Whatever runs there follows the one or the other.
  git: (delivery, secret, now) =>
    header(delivery, HUB) === null
      ? signedAsByGitlab(delivery, secret, now)
      : signedAsByGithub(delivery, secret),
};

type Headers = Delivery['headers'];

const has = (headers: Headers, names: readonly string[]) =>
  names.some((name) => header({ headers, body: Buffer.alloc(0) }, name) !== null);

/** What deliveries are judged by. */
const JUDGED_BY: Readonly<Record<GitProvider, readonly string[]>> = {
  github: [HUB],
  gitlab: [STANDARD, TOKEN],
  git: [HUB, STANDARD, TOKEN],
};

/**
 * What the headers of a delivery show, whoever it is for: `signed`: only its body tells whether it knows the secret;
 * `token`: the headers alone tell; null: it knows none.
 */
export function shownBy(headers: Headers): 'signed' | 'token' | null {
  if (has(headers, [HUB, STANDARD])) return 'signed';
  return has(headers, [TOKEN]) ? 'token' : null;
}

/** Whether the headers show what deliveries of the provider are judged by. */
export function mayKnow(provider: GitProvider, headers: Headers): boolean {
  return has(headers, JUDGED_BY[provider]);
}

/** Nobody has it: where no secret is known, the same is done with this one. */
const NOBODYS = newWebhookSecret();

/**
 * Whether a delivery knows one of the secrets.
 * @param secrets none: it does not, which takes as long to say
 */
export function isAuthentic(
  provider: GitProvider,
  delivery: Delivery,
  secrets: readonly string[],
  now: Date,
): boolean {
  const tried = secrets.length === 0 ? [NOBODYS] : secrets;
  return tried.map((secret) => FORMS[provider](delivery, secret, now)).includes(true);
}

const ID = /^[\x21-\x7e]{1,200}$/;
const IDS = ['webhook-id', 'x-github-delivery', 'idempotency-key', 'x-gitlab-event-uuid'];

/**
 * What a delivery is told apart by; one that has any of them in common with an earlier one is a repetition. A signature
 * of the body alone does not cover the id: there, the body counts as well. Where nothing is signed, the id counts with
 * the body: GitLab gives what one event set off the id of that event.
 */
export function deliveryKeys(delivery: Delivery): string[] {
  const given = IDS.map((name) => header(delivery, name)).find((id) => id !== null && ID.test(id));
  const body = `sha256:${digest(delivery.body).toString('hex')}`;
  if (given == null) return [body];
  if (header(delivery, HUB) !== null) return [given, body];
  return header(delivery, STANDARD) === null ? [`${given} ${body}`] : [given];
}
