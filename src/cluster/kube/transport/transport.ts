import type { Readable } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';
import { KubeError } from '../client/errors.ts';

/** One HTTP exchange. The signal covers all parts of the exchange: the connection, the response head and the body. */
export interface TransportRequest {
  method: string;
  /** Path with query. */
  path: string;
  headers: Record<string, string | string[]>;
  body?: string;
  signal: AbortSignal;
  /** Watches use a separate connection, so that a large list never delays them. */
  lane: 'calls' | 'watches';
}

export interface TransportResponse {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: Readable;
}

/**
 * Sends requests to one server. Fails with the signal's reason, or with a KubeError of kind `network`. The message of
 * the error is only the cause. The executor adds the attempted call.
 */
export interface Transport {
  send(request: TransportRequest): Promise<TransportResponse>;
  /** Called when a call timed out. Checks the connection before more calls use it. */
  suspect(): void;
  /**
   * Called when the credentials were rejected. Later calls need a new connection, because a client certificate belongs
   * to its connection.
   */
  renew(): void;
  close(): Promise<void>;
}

/** Reads the TLS files again, because certificates and authorities rotate. */
export type TlsSource = () => Promise<ConnectionOptions>;

/** The `network` KubeError for the error of a socket or stream. */
export function networkFailure(error: unknown, notProcessed = false): KubeError {
  if (error instanceof KubeError) return error;
  const { message, code } = error as NodeJS.ErrnoException;
  return new KubeError({
    kind: 'network',
    message: message || code || String(error),
    cause: error,
    notProcessed,
  });
}
