import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from 'node:http';
import { type RequestOptions, request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { errorCode, HostError } from './host-error.ts';
import { type AddressRules, type HostAddress, resolveHost } from './resolve-host.ts';

/**
 * Calls a host that a tenant may have chosen (protection against SSRF). It resolves the name once, checks all addresses,
 * connects to these addresses only, follows no redirect, and bounds time and size.
 */

export type HostMethod = 'GET' | 'HEAD' | 'DELETE' | 'POST' | 'PUT' | 'PATCH';

/** The body of a request. A stream is read as fast as the host takes it. */
export type HostBody = Uint8Array | AsyncIterable<Uint8Array>;

export interface OpenCall {
  readonly method: HostMethod;
  readonly headers: Readonly<Record<string, string>>;
  /** Default: no body. */
  readonly body?: HostBody | undefined;
  /** Addresses that may be called, or the checked addresses of the host from an earlier `resolveHost`. */
  readonly addresses: AddressRules | readonly HostAddress[];
  /** `http:` is allowed. Default: only `https:`. */
  readonly allowHttp?: boolean | undefined;
  /** PEM of the certificate authorities to trust instead of Node's own. */
  readonly ca?: string | string[] | undefined;
}

export interface HostCall extends OpenCall {
  /** Largest body of a response, in bytes. */
  readonly maxBytes: number;
  /** Whether to read the body of a response with this status. Default: always. */
  readonly readsBody?: ((status: number) => boolean) | undefined;
  /** Called when a response begins. */
  readonly onResponse?: (() => void) | undefined;
}

export interface HostResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Empty if it was not read. */
  readonly body: Buffer;
}

/** A replacement of dns.lookup that returns the checked addresses. */
function pinned(addresses: readonly HostAddress[]): LookupFunction {
  return (_hostname, { all }, callback) => {
    const [first = { address: '', family: 4 }] = addresses;
    if (all === true) callback(null, [...addresses]);
    else callback(null, first.address, first.family);
  };
}

/** The error of a body, which is thrown as it is. */
class BodyError extends Error {}

async function* withBodyErrors(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (cause) {
    throw new BodyError('the body of a request failed', { cause });
  }
}

function send(url: URL, options: RequestOptions, body: HostBody | undefined): Promise<IncomingMessage> {
  const create = url.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const request = create(url, options).on('response', resolve).on('error', reject);
    if (body === undefined || body instanceof Uint8Array) request.end(body);
    // A response before the end of the body ends the call, and with it the body.
    else pipeline(Readable.from(withBodyErrors(body)), request).catch(reject);
  });
}

async function* contentOf(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    yield* response as AsyncIterable<Buffer>;
  } catch (error) {
    signal.throwIfAborted();
    throw new HostError('incomplete', errorCode(error));
  }
}

async function readBody(content: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of content) {
    size += chunk.length;
    if (size > maxBytes) throw new HostError('too_large', `${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function addressesFor(url: URL, call: OpenCall, signal: AbortSignal): Promise<readonly HostAddress[]> {
  if (url.protocol !== 'https:' && !(call.allowHttp === true && url.protocol === 'http:')) {
    throw new HostError('unreachable', 'ERR_INVALID_PROTOCOL');
  }
  return 'allowPrivate' in call.addresses
    ? await resolveHost(url.hostname, call.addresses, signal)
    : call.addresses;
}

/** The response of a host whose body is not read yet. */
export interface OpenResponse extends Omit<HostResponse, 'body'> {
  readonly content: AsyncIterable<Buffer>;
}

/**
 * Sends the call, and passes a response of any status to `read`. The response ends with `read`.
 * @param signal bounds the time of the call, including the lookup of the name
 * @throws HostError; the reason of the signal when it fires; the error of the body, or of `read`
 */
export async function openHost<T>(
  url: URL,
  call: OpenCall,
  signal: AbortSignal,
  read: (response: OpenResponse) => Promise<T>,
): Promise<T> {
  const { method, headers, ca, body } = call;
  let response: IncomingMessage;
  try {
    const options: RequestOptions = {
      method,
      headers: { 'user-agent': 'berth', ...headers },
      // Connections are not reused: the next call may be for another tenant, or the name may resolve to another address.
      agent: false,
      signal,
      lookup: pinned(await addressesFor(url, call, signal)),
      ...(ca === undefined ? {} : { ca }),
    };
    response = await send(url, options, body);
  } catch (error) {
    if (error instanceof HostError) throw error;
    if (error instanceof BodyError) throw error.cause;
    signal.throwIfAborted();
    throw new HostError('unreachable', errorCode(error));
  }
  try {
    const { statusCode: status = 0, headers: answered } = response;
    return await read({ status, headers: answered, content: contentOf(response, signal) });
  } finally {
    response.destroy();
  }
}

/**
 * Sends the call and returns responses of any status.
 * @param signal bounds the time of the call, including the lookup of the name
 * @throws HostError; the reason of the signal when it fires; the error of the body
 */
export function callHost(url: URL, call: HostCall, signal: AbortSignal): Promise<HostResponse> {
  const { maxBytes, readsBody = () => true } = call;
  return openHost(url, call, signal, async ({ status, headers, content }) => {
    call.onResponse?.();
    return { status, headers, body: readsBody(status) ? await readBody(content, maxBytes) : Buffer.alloc(0) };
  });
}
