import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { toApiError } from '../core/errors.ts';
import { escaped } from '../pages/html.ts';

/** The page with the reason why a sign-in failed, for browsers. Programs get the usual JSON. */

const pageOf = (detail: string, requestId: string) => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sign-in failed</title>
<h1>Sign-in failed</h1>
<p>${escaped(detail)}</p>
<p><a href="sign-in">Sign in again</a></p>
<p>Request id: ${escaped(requestId)}</p>
</html>
`;

/** A browser that navigates asks for HTML. A request of a script does not. */
const wantsPage = ({ headers }: FastifyRequest) => /\btext\/html\b/.test(headers.accept ?? '');

/** Answers errors of these routes with a page, if a browser shows the response. page-headers.ts adds strict headers. */
export function sendPages(app: FastifyInstance): void {
  app.setErrorHandler((error, request: FastifyRequest, reply: FastifyReply) => {
    const { statusCode, detail, retryAfterSeconds } = toApiError(error);
    // Errors of the server are logged by the handler of the app.
    if (!wantsPage(request) || typeof detail !== 'string' || statusCode === 500) throw error;
    if (retryAfterSeconds !== null) reply.header('retry-after', String(retryAfterSeconds));
    reply.code(statusCode).type('text/html; charset=utf-8');
    return reply.serializer(String).send(pageOf(detail, request.id));
  });
}
