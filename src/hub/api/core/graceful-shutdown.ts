import type { FastifyInstance } from 'fastify';
import { shutdownSignal } from './client-disconnect.ts';

/** Graceful shutdown of the API. Requests in progress are completed, and idle connections do not delay the shutdown. */

const IDLE_CHECK_MS = 50;
/** Time after which requests that are not complete are aborted. The API has 9 s for its whole shutdown. */
const DRAIN_MS = 6_000;

/**
 * During the shutdown, responses have the header `Connection: close`, also for requests that arrived before it.
 * (fastify sets this header only for later requests.)
 */
export function announceShutdown(app: FastifyInstance): void {
  const closing = shutdownSignal(app);
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (closing.aborted) reply.header('connection', 'close');
    done(null, payload);
  });
}

/**
 * Closes the server gracefully. Resolves when the last response is sent and no connection is left. Node closes the
 * connections that are idle at the beginning. A connection that was busy at the beginning and that its client keeps
 * alive would delay the shutdown by a minute.
 * @param drainMs time after which connections are closed, with unfinished requests
 */
export async function closeGracefully(app: FastifyInstance, drainMs = DRAIN_MS): Promise<void> {
  const idle = setInterval(() => app.server.closeIdleConnections(), IDLE_CHECK_MS);
  const late = setTimeout(() => app.server.closeAllConnections(), drainMs);
  try {
    await app.close();
  } finally {
    clearInterval(idle);
    clearTimeout(late);
  }
}
