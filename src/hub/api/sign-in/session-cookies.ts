import { fastifyCookie } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { SignInProof } from '../../../domain/access/identity-provider.ts';
import { type CookieSettings, cookieSettings, isForged } from '../../../domain/access/session-cookie.ts';
import type { SecretBox } from '../../store/secrets/secret-box.ts';
import { ApiError } from '../core/errors.ts';

/** Reads and writes the cookies of sign-in. */

/** The attributes of both cookies. Lax lets the identity provider send the browser back with its cookies. */
const attributesOf = ({ secure }: CookieSettings) =>
  ({ path: '/', httpOnly: true, secure, sameSite: 'lax' }) as const;

/** A cookie by its name; null: the request has no such cookie. */
function cookieOf({ headers }: FastifyRequest, name: string): string | null {
  return headers.cookie === undefined ? null : (fastifyCookie.parse(headers.cookie)[name] ?? null);
}

/** 403: the page that sent the request may belong to another party. */
export function foreignOrigin({ origin }: CookieSettings): ApiError {
  const detail = `Requests of a browser must come from a page of ${origin}. The header Origin is absent, or names another page.`;
  return new ApiError(403, detail);
}

const NOT_POSSIBLE =
  'Signing in is not possible: BERTH_PUBLIC_URL must be an https URL, or an http URL of this machine (localhost).';

/** The settings of the cookies. @throws ApiError 403 when sign-in is not possible under the public URL */
export function requireCookies(publicUrl: string | null): CookieSettings {
  const settings = cookieSettings(publicUrl);
  if (settings === null) throw new ApiError(403, NOT_POSSIBLE);
  return settings;
}

/**
 * Reads the cookie of the session, and rejects changes that a page of another origin sends with it.
 * @returns null: the request has no such cookie
 * @throws ApiError 403
 */
export function sessionSecretOf(request: FastifyRequest, settings: CookieSettings): string | null {
  const secret = cookieOf(request, settings.session);
  if (secret === null || secret === '') return null;
  if (isForged(request.method, request.headers.origin, settings)) throw foreignOrigin(settings);
  return secret;
}

/** The cookie ends with the browser, or with the session if that is earlier. */
export function setSessionCookie(reply: FastifyReply, settings: CookieSettings, secret: string): void {
  reply.setCookie(settings.session, secret, attributesOf(settings));
}

export function clearSessionCookie(reply: FastifyReply, settings: CookieSettings): void {
  reply.clearCookie(settings.session, attributesOf(settings));
}

/** Time for a sign-in at the identity provider, in seconds. */
const FLOW_SECONDS = 600;

const flowSchema = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  returnTo: z.string(),
  until: z.number(),
});

/** A sign-in that a browser has started. Nothing is stored: the browser keeps it, encrypted. */
export interface SignInFlow extends SignInProof {
  /** Path to which the browser returns. */
  readonly returnTo: string;
}

const CONTEXT = 'sign-in';

export function setFlowCookie(
  reply: FastifyReply,
  { settings, box, now }: { settings: CookieSettings; box: SecretBox; now: Date },
  flow: SignInFlow,
): void {
  const until = now.getTime() + FLOW_SECONDS * 1000;
  const { keyId, sealed } = box.seal(Buffer.from(JSON.stringify({ ...flow, until })), CONTEXT);
  const value = `${keyId}.${sealed.toString('base64url')}`;
  reply.setCookie(settings.flow, value, { ...attributesOf(settings), maxAge: FLOW_SECONDS });
}

export function clearFlowCookie(reply: FastifyReply, settings: CookieSettings): void {
  reply.clearCookie(settings.flow, attributesOf(settings));
}

/** The sign-in that this browser started; null: none, or too long ago. */
export function flowOf(
  request: FastifyRequest,
  { settings, box, now }: { settings: CookieSettings; box: SecretBox; now: Date },
): SignInFlow | null {
  const [keyId = '', sealed = ''] = cookieOf(request, settings.flow)?.split('.') ?? [];
  if (!box.keyIds.has(keyId)) return null;
  let text: string;
  try {
    text = box.open(Buffer.from(sealed, 'base64url'), keyId, CONTEXT).toString();
  } catch {
    return null;
  }
  const flow = flowSchema.parse(JSON.parse(text));
  return flow.until > now.getTime() ? flow : null;
}
