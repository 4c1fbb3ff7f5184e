import type { Readable } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';
import { KubeError } from '../client/errors.ts';

/** One HTTP exchange. The signal covers all of it: connecting, the answer's head and its body. */
export interface TransportRequest {
  method: string;
  /** Path with query. */
  path: string;
  headers: Record<string, string | string[]>;
  body?: string;
  signal: AbortSignal;
  /** Watches go over a connection of their own, so that a large list never holds them up. */
  lane: 'calls' | 'watches';
}

export interface TransportResponse {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: Readable;
}

/**
 * Sends requests to one server. Fails with a KubeError of kind `network`, whose message is the bare cause (the executor
 * says what was tried), or with the signal's reason.
 */
export interface Transport {
  send(request: TransportRequest): Promise<TransportResponse>;
  /** A call got no answer in time: the connection may be dead; find out before more calls wait for it. */
  suspect(): void;
  /** The credentials were refused: a certificate belongs to its connection, so later calls need a new one. */
  renew(): void;
  close(): Promise<void>;
}

/** Reads the TLS files anew: certificates and authorities rotate. */
export type TlsSource = () => Promise<ConnectionOptions>;

/** The `network` KubeError for what a socket or stream failed with. */
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
