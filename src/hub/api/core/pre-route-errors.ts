import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { uuidv7 } from '../../../domain/core/id.ts';
import { requestId } from './request-id.ts';

/** Responses to requests that Node rejects before fastify sees them, in the same form as all other errors. */

const NOT_HTTP: readonly [status: number, detail: string] = [
  400,
  'The received bytes are not an HTTP request.',
];

/** Responses by Node's error code. Any other error means that the bytes are not HTTP. */
const REFUSED_BY_NODE: Readonly<Record<string, readonly [status: number, detail: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive within the time limit.'],
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

/** Whether a response on this connection has begun. The client would read a second response as part of the first. */
function answering(socket: Socket & { _httpMessage?: { headersSent?: boolean } | null }): boolean {
  return socket._httpMessage?.headersSent === true;
}

/** Fastify's `clientErrorHandler`: responds to bytes that are not a valid request, and closes the connection. */
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
  // If the client does not read, part of the response may remain unsent. A late request is closed without waiting for
  // the response to be sent.
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && answering(socket)) socket.destroy();
  else socket.destroySoon();
}

/** The handler of `checkExpectation`: an Expect header other than 100-continue gets 417. */
export function answerExpectation(request: IncomingMessage, response: ServerResponse): void {
  const body = JSON.stringify({ detail: 'The header Expect can only be 100-continue.' });
  response.writeHead(417, headersFor(requestId(request), body)).end(body);
}
