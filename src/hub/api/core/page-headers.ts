import type { FastifyReply, FastifyRequest } from 'fastify';

/** Headers of what a browser renders: pages run no foreign script, are in no frame, and tell nobody their address. */

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

/** Of a page that needs nothing besides itself. */
const CLOSED = policy({});

/** Of /docs: its scripts are files of this API; only its styles are partly written by its scripts. */
const DOCS = policy({
  'script-src': "'self'",
  'style-src': "'self' 'unsafe-inline'",
  'img-src': "'self' data:",
  'font-src': "'self' data:",
  'connect-src': "'self'",
});

function setPageHeaders(reply: FastifyReply, contentSecurityPolicy: string): void {
  reply
    .header('content-security-policy', contentSecurityPolicy)
    .header('x-frame-options', 'DENY')
    .header('referrer-policy', 'no-referrer');
}

/** An `onRequest` hook for the pages below /docs and all that they load. */
export function setDocsHeaders(_request: FastifyRequest, reply: FastifyReply, done: () => void): void {
  setPageHeaders(reply, DOCS);
  done();
}

/** An `onSend` hook: HTML of any other route is closed, whichever route learns to answer it. */
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
