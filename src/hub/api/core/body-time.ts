import type { IncomingMessage, Server } from 'node:http';
import { answerClientError } from './pre-route-errors.ts';

/**
 * Limits the time in which the body of a request must arrive. Node's own limit (requestTimeout) is the same for all routes,
 * but an upload may take longer than other bodies.
 */

export interface BodyTime {
  /** Ends the limit for a request whose route has a limit of its own. */
  exempt(request: IncomingMessage): void;
}

const hasBody = ({ headers }: IncomingMessage) =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';

const LATE: NodeJS.ErrnoException = Object.assign(new Error('the body did not arrive in time'), {
  code: 'ERR_HTTP_REQUEST_TIMEOUT',
});

/** @param ms time after the headers, in milliseconds */
export function limitBodyTime(server: Server, ms: number): BodyTime {
  const timers = new WeakMap<IncomingMessage, NodeJS.Timeout>();
  // Before the handler of the request, which may exempt it.
  server.prependListener('request', (request: IncomingMessage) => {
    if (!hasBody(request)) return;
    const timer = setTimeout(() => {
      if (!request.complete) answerClientError(LATE, request.socket);
    }, ms);
    timers.set(request, timer);
    const end = () => clearTimeout(timer);
    request.once('end', end).once('close', end);
  });
  return { exempt: (request) => clearTimeout(timers.get(request)) };
}
