import type { IncomingMessage } from 'node:http';
import { uuidv7 } from '../../../domain/core/id.ts';

/** The request id in each response and in the log lines of the request. */

const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;

/** The client's X-Request-Id if it is a plain word, otherwise a new id. */
export function requestId(request: Pick<IncomingMessage, 'headers'>): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : uuidv7();
}
