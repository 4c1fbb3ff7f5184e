import type { FastifyReply, FastifyRequest } from 'fastify';

/** Security headers of rendered pages: no foreign scripts, no embedding in frames, no referrer. */

const policy = (directives: Readonly<Record<string, string>>) =>
  Object.entries({
    'default-src': "'none'",
    'base-uri': "'none'",
    'form-action': "'none'",
    'frame-ancestors': "'none'",
    ...directives,
  })
    .map(([name, value]) => `${name} ${value}`)
    .join('; ');

/** The policy of a page that loads nothing. */
const CLOSED = policy({});

/** For /docs. The scripts of the page are files of this API. The scripts of the page set some of its styles. */
const DOCS = policy({
  'script-src': "'self'",
  'style-src': "'self' 'unsafe-inline'",
  'img-src': "'self' data:",
  'font-src': "'self' data:",
  'connect-src': "'self'",
});

/**
 * For the console. Its own files only, and no inline script or style. The base element of the index has the path of this API.
 */
const CONSOLE = policy({
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self'",
  'connect-src': "'self'",
  'base-uri': "'self'",
});

function setPageHeaders(
  reply: FastifyReply,
  contentSecurityPolicy: string,
  referrerPolicy: 'no-referrer' | 'same-origin' = 'no-referrer',
): void {
  reply
    .header('content-security-policy', contentSecurityPolicy)
    .header('x-frame-options', 'DENY')
    .header('referrer-policy', referrerPolicy);
}

/**
 * For a page with one style, and maybe with a form for this API. With the policy no-referrer, browsers would send
 * `Origin: null` with the form, which is rejected.
 * @param style source of the style, such as its hash
 */
export function setStyledHeaders(
  reply: FastifyReply,
  style: string,
  { hasForm }: { hasForm: boolean },
): void {
  const form: Record<string, string> = hasForm ? { 'form-action': "'self'" } : {};
  setPageHeaders(reply, policy({ ...form, 'style-src': style }), hasForm ? 'same-origin' : 'no-referrer');
}

/** An `onRequest` hook for the pages below /docs and their resources. */
export function setDocsHeaders(_request: FastifyRequest, reply: FastifyReply, done: () => void): void {
  setPageHeaders(reply, DOCS);
  done();
}

/** For the index of the console, and its files. Sign-in needs the referrer of pages of this origin (`Origin`). */
export const setConsoleHeaders = (reply: FastifyReply): void => setPageHeaders(reply, CONSOLE, 'same-origin');

/** An `onSend` hook that sets strict headers on HTML of all other routes. */
export function closePages(
  _request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  done: (error: null, payload: unknown) => void,
): void {
  const type = reply.getHeader('content-type');
  const isPage = typeof type === 'string' && /\b(html|xml|svg)\b/i.test(type);
  if (isPage && !reply.hasHeader('content-security-policy')) setPageHeaders(reply, CLOSED);
  done(null, payload);
}
