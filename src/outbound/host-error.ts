/**
 * Why a call to a host failed. `closed_address`: the host has an address that must not be called. `unresolved`: the name has
 * no address. `unreachable`: no connection. `incomplete`: the connection ended during the response. `too_large`: the response
 * exceeds its limit.
 */
export type HostFailure = 'closed_address' | 'unresolved' | 'unreachable' | 'incomplete' | 'too_large';

/** A failed call. It contains no text of the host, so callers can show it. */
export class HostError extends Error {
  readonly failure: HostFailure;
  /** Error code of Node, such as ECONNREFUSED. */
  readonly code: string;
  constructor(failure: HostFailure, code: string) {
    super(`failed to call the host: ${failure} (${code})`);
    this.name = 'HostError';
    this.failure = failure;
    this.code = code;
  }
}

/** The code of an error of Node. Its message is not used, because it may contain text of the host. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'the connection failed';
}
