import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from 'node:http';
import { type RequestOptions, request as requestHttps } from 'node:https';
import { isIP } from 'node:net';
import { publicLookup } from '../../dns/public-lookup.ts';
import { isPublicAddress } from '../../domain/net/networks.ts';
import { RegistryError } from './registry-error.ts';

/**
 * One call of a registry, or of whoever gives tokens for it: hosts that a stranger may have named. No redirect is
 * followed; time and size are bounded by the caller.
 */

export interface Call {
  readonly method: 'GET' | 'HEAD' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  /** Largest answer that is read, in bytes. */
  readonly maxBytes: number;
  /** Private and loopback addresses may be called; else the address that is connected to is one that was checked. */
  readonly mayBePrivate: boolean;
  /** PEM of the authorities to trust in place of Node's own. */
  readonly ca?: string | undefined;
  /** Told when an answer begins. */
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
    `${host} is at a private address, which this installation does not call (BERTH_PRIVATE_REGISTRIES)`,
  );

const lookup = publicLookup({ refused: privateAddress });

/** A literal address is not looked up. */
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
      throw new RegistryError('unsupported', `its answer is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** A code such as ECONNREFUSED is Node's own, so it may be told; a message may hold words of the host. */
function connectionError(error: unknown, host: string, answered: boolean): RegistryError {
  if (error instanceof RegistryError) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'the connection failed';
  if (answered) return new RegistryError('failing', `${host} does not end its answer (${code})`);
  return new RegistryError('unavailable', `${host} cannot be reached (${code})`);
}

/**
 * Makes the call; answers of any status are returned.
 * @throws RegistryError, but for an end by the signal: then whatever the signal's reason is
 */
export async function call(url: URL, options: Call, signal: AbortSignal): Promise<Answer> {
  if (!options.mayBePrivate) checkLiteral(url.hostname);
  let response: IncomingMessage | undefined;
  try {
    response = await open(url, {
      method: options.method,
      headers: { ...options.headers, 'user-agent': 'berth' },
      // No connection is kept: another call may be another tenant's, or the name may have moved.
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
