import type { FastifyInstance, FastifyReply } from 'fastify';

/** Signals for long responses that fire when the client disconnects. */

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
 * Calls `then` when the response is complete or the client has disconnected, or at once if this has already happened.
 * The check is needed because the event is emitted only once, and a caller that awaits before this call can miss it.
 */
export function onDisconnect({ raw }: FastifyReply, then: () => void): void {
  if (raw.destroyed) then();
  else raw.once('close', then);
}

/**
 * A signal that aborts when the client disconnects or the server shuts down. The signal is already aborted if this has
 * happened before.
 */
export function disconnectSignal(reply: FastifyReply, closing: AbortSignal): AbortSignal {
  const gone = new AbortController();
  onDisconnect(reply, () => gone.abort());
  return AbortSignal.any([gone.signal, closing]);
}

/** Time after the deadline of a response after which a client that has not received it completely is disconnected. */
const TAKING_MS = 5 * 60_000;

/** Limits the time for which a client that does not read can hold open a response of `ms` milliseconds. */
export function cutOff(reply: FastifyReply, ms: number): void {
  const timer = setTimeout(() => reply.raw.destroy(), ms + TAKING_MS);
  onDisconnect(reply, () => clearTimeout(timer));
}
