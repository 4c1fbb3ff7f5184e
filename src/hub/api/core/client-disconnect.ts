import type { FastifyInstance, FastifyReply } from 'fastify';

/** Signals for long responses: the client has disconnected. */

/** Aborts when the server begins to shut down. */
export function shutdownSignal(app: FastifyInstance): AbortSignal {
  const closing = new AbortController();
  app.addHook('preClose', (done) => {
    closing.abort();
    done();
  });
  return closing.signal;
}

/**
 * Calls `then` when the response is complete or the client has disconnected. It calls at once if that has already
 * happened. A caller that awaits anything before this call can miss the event, which is emitted once.
 */
export function onDisconnect({ raw }: FastifyReply, then: () => void): void {
  if (raw.destroyed) then();
  else raw.once('close', then);
}

/** Aborts when the client disconnects or the server shuts down. It is already aborted if that has happened. */
export function disconnectSignal(reply: FastifyReply, closing: AbortSignal): AbortSignal {
  const gone = new AbortController();
  onDisconnect(reply, () => gone.abort());
  return AbortSignal.any([gone.signal, closing]);
}

/** A client that has not received the whole response this long after its deadline is disconnected. */
const TAKING_MS = 5 * 60_000;

/** Bounds how long a client that does not read can hold open a response of `ms` milliseconds. */
export function cutOff(reply: FastifyReply, ms: number): void {
  const timer = setTimeout(() => reply.raw.destroy(), ms + TAKING_MS);
  onDisconnect(reply, () => clearTimeout(timer));
}
