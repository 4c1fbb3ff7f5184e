import type { FastifyInstance, FastifyReply } from 'fastify';

/** For answers that take their time: signals that nobody waits for one any more. */

/** Fires when the server begins to shut down. */
export function closingSignal(app: FastifyInstance): AbortSignal {
  const closing = new AbortController();
  app.addHook('preClose', (done) => {
    closing.abort();
    done();
  });
  return closing.signal;
}

/**
 * Calls `then` once the answer is through or its client has gone: at once where it has gone already. Whoever awaits
 * anything before looking here may be too late for the event, which comes once.
 */
export function onGone({ raw }: FastifyReply, then: () => void): void {
  if (raw.destroyed) then();
  else raw.once('close', then);
}

/** Fires when the client goes away or the server shuts down; has fired where that is so already. */
export function goneSignal(reply: FastifyReply, closing: AbortSignal): AbortSignal {
  const gone = new AbortController();
  onGone(reply, () => gone.abort());
  return AbortSignal.any([gone.signal, closing]);
}

/** Whoever has not taken all of an answer so long after its time is cut off. */
const TAKING_MS = 5 * 60_000;

/** Bounds how long a client that takes nothing holds an answer that goes on for `ms`. */
export function cutOff(reply: FastifyReply, ms: number): void {
  const timer = setTimeout(() => reply.raw.destroy(), ms + TAKING_MS);
  onGone(reply, () => clearTimeout(timer));
}
