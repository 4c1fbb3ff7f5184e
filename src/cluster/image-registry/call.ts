import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from 'node:http';
import { type RequestOptions, request as requestHttps } from 'node:https';
import { isIP } from 'node:net';
import { publicLookup } from '../../dns/public-lookup.ts';
import { isPublicAddress } from '../../domain/net/networks.ts';
import { RegistryError } from './registry-error.ts';

/**
 * One call of a registry or its token server. A tenant may choose the hosts of registries, so redirects are not
 * followed, and the caller bounds time and size.
 */

export interface Call {
  readonly method: 'GET' | 'HEAD' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  /** Maximum size of the response, in bytes. */
  readonly maxBytes: number;
  /** Private and loopback addresses may be called. false: connects only to addresses that were checked to be public. */
  readonly mayBePrivate: boolean;
  /** PEM of the certificate authorities to trust instead of Node's own. */
  readonly ca?: string | undefined;
  /** Called when a response begins. */
  readonly onAnswer?: (() => void) | undefined;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const privateAddress = (host: string) =>
  new RegistryError(
    'forbidden',
    `${host} has a private address, and this installation does not call private addresses (BERTH_PRIVATE_REGISTRIES)`,
  );

const lookup = publicLookup({ refused: privateAddress });

/** Checks an address that is given literally, because it skips the DNS lookup and its check. */
function checkLiteral(hostname: string): void {
  const address = hostname.replace(/^\[|\]$/g, '');
  if (address === 'localhost' || (isIP(address) !== 0 && !isPublicAddress(address)))
    throw privateAddress(hostname);
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
    if (size > maxBytes)
      throw new RegistryError('unsupported', `its response is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Only the error code (ECONNREFUSED) is reported, because a message may contain text from the host. */
function connectionError(error: unknown, host: string, answered: boolean): RegistryError {
  if (error instanceof RegistryError) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'the connection failed';
  if (answered) return new RegistryError('failing', `${host} did not complete its response (${code})`);
  return new RegistryError('unavailable', `${host} cannot be reached (${code})`);
}

/**
 * Sends the call. Responses of any status are returned.
 * @throws RegistryError; the signal's reason when the signal fires
 */
export async function call(url: URL, options: Call, signal: AbortSignal): Promise<Answer> {
  if (!options.mayBePrivate) checkLiteral(url.hostname);
  let response: IncomingMessage | undefined;
  try {
    response = await open(url, {
      method: options.method,
      headers: { ...options.headers, 'user-agent': 'berth' },
      // Connections are not reused: the next call may be for another tenant, or the name may resolve to another
      // address.
      agent: false,
      signal,
      ...(options.mayBePrivate ? {} : { lookup }),
      ...(options.ca === undefined ? {} : { ca: options.ca }),
    });
    options.onAnswer?.();
    const { statusCode: status = 0, headers } = response;
    return { status, headers, body: await readBody(response, options.maxBytes) };
  } catch (error) {
    signal.throwIfAborted();
    throw connectionError(error, url.host, response !== undefined);
  } finally {
    response?.destroy();
  }
}
