import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { uuidv7 } from '../../../domain/core/id.ts';
import { requestId } from './request-id.ts';

/** Answers to what Node refuses before fastify sees a request; in the form of all others. */

const NOT_HTTP: readonly [status: number, detail: string] = [400, 'This is no HTTP request.'];

/** By the code of Node's error; anything else is no HTTP. */
const REFUSED_BY_NODE: Readonly<Record<string, readonly [status: number, detail: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive in time.'],
  HPE_HEADER_OVERFLOW: [431, 'The headers are too large.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'The extensions of a chunk are too large.'],
};

function headersFor(id: string, body: string): Record<string, string | number> {
  return {
    'x-request-id': id,
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  };
}

/** Whether an answer on this connection has begun: a second one would be read as part of it. */
function answering(socket: Socket & { _httpMessage?: { headersSent?: boolean } | null }): boolean {
  return socket._httpMessage?.headersSent === true;
}

/** Fastify's `clientErrorHandler`: answers bytes that are no request, and ends the connection. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  if (socket.writable && !answering(socket)) {
    const [status, detail] = REFUSED_BY_NODE[error.code ?? ''] ?? NOT_HTTP;
    const body = JSON.stringify({ detail });
    const lines = Object.entries(headersFor(uuidv7(), body)).map(([name, value]) => `${name}: ${value}`);
    socket.write(
      [
        `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
        `date: ${new Date().toUTCString()}`,
        ...lines,
        '',
        body,
      ].join('\r\n'),
    );
  }
  // Part of an answer may wait for a client that does not read: the end of a late request does not.
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && answering(socket)) socket.destroy();
  else socket.destroySoon();
}

/** The listener of `checkExpectation`: an Expect other than 100-continue is a 417. */
export function answerExpectation(request: IncomingMessage, response: ServerResponse): void {
  const body = JSON.stringify({ detail: 'Expect may only be 100-continue.' });
  response.writeHead(417, headersFor(requestId(request), body)).end(body);
}
