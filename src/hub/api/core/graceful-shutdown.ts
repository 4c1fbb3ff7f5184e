import type { FastifyInstance } from 'fastify';
import { closingSignal } from './client-disconnect.ts';

/** The end of an API's server: what is under way is answered, and no connection that a client keeps holds it up. */

const LOOK_MS = 50;
/** What is not answered by then is broken off; the API has 9 s for all of its end. */
const DRAIN_MS = 6_000;

/**
 * Answers that are given while the server closes tell their client so, those too whose request came before. (fastify
 * tells it only to requests that come later.)
 */
export function tellClosing(app: FastifyInstance): void {
  const closing = closingSignal(app);
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (closing.aborted) reply.header('connection', 'close');
    done(null, payload);
  });
}

/**
 * Closes in order: resolves when the last answer is given and no connection is left. Node ends the connections that are
 * idle at the beginning; one that was busy then, and is kept by its client, would hold the end up for a minute.
 * @param drainMs after which connections are broken off: with what is unanswered, and those on which nothing was asked
 */
export async function closeInOrder(app: FastifyInstance, drainMs = DRAIN_MS): Promise<void> {
  const idle = setInterval(() => app.server.closeIdleConnections(), LOOK_MS);
  const late = setTimeout(() => app.server.closeAllConnections(), drainMs);
  try {
    await app.close();
  } finally {
    clearInterval(idle);
    clearTimeout(late);
  }
}
