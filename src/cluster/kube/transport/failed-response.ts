import { type Status, statusError } from '../client/errors.ts';
import type { HttpCall } from './http-executor.ts';
import type { TransportResponse } from './transport.ts';

/** Converts an error response to a KubeError. */

const ERROR_TEXT_LIMIT = 500;

/** @throws KubeError when the status is not 200 to 299, with the part of the server's text that may be shown */
export function failOnStatus(
  call: Pick<HttpCall, 'action' | 'resource' | 'confidential'>,
  response: TransportResponse,
  text: string,
): void {
  if (response.status >= 200 && response.status < 300) return;
  const { action, resource, confidential } = call;
  const more = { resource, confidential, retryAfterMs: retryAfterMs(response) };
  throw statusError(action, response.status, statusOf(text), more);
}

function statusOf(text: string): Status {
  try {
    const parsed = JSON.parse(text) as Status | null;
    if (parsed?.kind === 'Status') return parsed;
  } catch {
    // The body is the page of a proxy or a webhook. The text of the page is the best available description of the
    // failure.
  }
  return { message: text.slice(0, ERROR_TEXT_LIMIT) };
}

/** Retry-After in ms: seconds, or an HTTP date. */
function retryAfterMs({ headers }: TransportResponse): number | undefined {
  const value = headers['retry-after'];
  if (typeof value !== 'string') return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}
