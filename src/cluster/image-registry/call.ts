import {
  callHost,
  type HostCall,
  type HostResponse,
  type OpenResponse,
  openHost,
} from '../../outbound/call-host.ts';
import { HostError } from '../../outbound/host-error.ts';
import { RegistryError } from './registry-error.ts';

/** One call of a registry or its token server. */

export interface Call
  extends Pick<HostCall, 'headers' | 'maxBytes' | 'addresses' | 'allowHttp' | 'ca' | 'onResponse' | 'body'> {
  readonly method: HostCall['method'];
}

function registryErrorOf(
  { failure, code }: HostError,
  { host, hostname }: URL,
  maxBytes: number,
): RegistryError {
  switch (failure) {
    case 'closed_address':
      return new RegistryError(
        'forbidden',
        `${hostname} has a private address, and this installation does not call private addresses (BERTH_PRIVATE_REGISTRIES)`,
      );
    case 'too_large':
      return new RegistryError('unsupported', `its response is larger than ${maxBytes} bytes`);
    case 'incomplete':
      return new RegistryError('failing', `${host} did not complete its response (${code})`);
    default:
      return new RegistryError('unavailable', `${host} cannot be reached (${code})`);
  }
}

/**
 * Sends the call. Responses of any status are returned.
 * @throws RegistryError; the signal's reason when the signal fires; the error of the body
 */
export async function call(url: URL, options: Call, signal: AbortSignal): Promise<HostResponse> {
  try {
    return await callHost(url, options, signal);
  } catch (error) {
    throw error instanceof HostError ? registryErrorOf(error, url, options.maxBytes) : error;
  }
}

/**
 * Sends the call, and passes a response of any status to `read`, before its body is read.
 * @throws RegistryError; the signal's reason when the signal fires; the error of `read`
 */
export async function openCall<T>(
  url: URL,
  options: Omit<Call, 'maxBytes'>,
  signal: AbortSignal,
  read: (response: OpenResponse) => Promise<T>,
): Promise<T> {
  try {
    return await openHost(url, options, signal, read);
  } catch (error) {
    throw error instanceof HostError ? registryErrorOf(error, url, 0) : error;
  }
}
