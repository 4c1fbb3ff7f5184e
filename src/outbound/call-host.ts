import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from 'node:http';
import { type RequestOptions, request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { errorCode, HostError } from './host-error.ts';
import { type AddressRules, type HostAddress, resolveHost } from './resolve-host.ts';

/**
 * Calls a host that a tenant may have chosen (protection against SSRF). It resolves the name once, checks all addresses,
 * connects to these addresses only, follows no redirect, and bounds time and size.
 */

export interface HostCall {
  readonly method: 'GET' | 'HEAD' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  /** Largest body of a response, in bytes. */
  readonly maxBytes: number;
  /** Whether to read the body of a response with this status. Default: always. */
  readonly readsBody?: ((status: number) => boolean) | undefined;
  /** Addresses that may be called, or the checked addresses of the host from an earlier `resolveHost`. */
  readonly addresses: AddressRules | readonly HostAddress[];
  /** `http:` is allowed. Default: only `https:`. */
  readonly allowHttp?: boolean | undefined;
  /** PEM of the certificate authorities to trust instead of Node's own. */
  readonly ca?: string | string[] | undefined;
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

function open(url: URL, options: RequestOptions): Promise<IncomingMessage> {
  const request = url.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    request(url, options).on('response', resolve).on('error', reject).end();
  });
}

async function readBody(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new HostError('too_large', `${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function addressesFor(url: URL, call: HostCall, signal: AbortSignal): Promise<readonly HostAddress[]> {
  if (url.protocol !== 'https:' && !(call.allowHttp === true && url.protocol === 'http:')) {
    throw new HostError('unreachable', 'ERR_INVALID_PROTOCOL');
  }
  return 'allowPrivate' in call.addresses
    ? await resolveHost(url.hostname, call.addresses, signal)
    : call.addresses;
}

/**
 * Sends the call and returns responses of any status.
 * @param signal bounds the time of the call, including the lookup of the name
 * @throws HostError; the reason of the signal when it fires
 */
export async function callHost(url: URL, call: HostCall, signal: AbortSignal): Promise<HostResponse> {
  const { method, headers, ca, maxBytes, readsBody = () => true } = call;
  let response: IncomingMessage | undefined;
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
    response = await open(url, options);
    call.onResponse?.();
    const { statusCode: status = 0 } = response;
    const content = readsBody(status) ? await readBody(response, maxBytes) : Buffer.alloc(0);
    return { status, headers: response.headers, body: content };
  } catch (error) {
    if (error instanceof HostError) throw error;
    signal.throwIfAborted();
    throw new HostError(response === undefined ? 'unreachable' : 'incomplete', errorCode(error));
  } finally {
    response?.destroy();
  }
}
