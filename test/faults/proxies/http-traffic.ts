/** Types that the proxies in front of HTTP servers share. */

/** One request as it reached a proxy. */
export interface HttpRequest {
  /** In the order of arrival at this proxy, from 1. */
  readonly seq: number;
  /** Which listening port it came in by: each role that is told apart has one. */
  readonly client: string;
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The body of a write, parsed; undefined where there is none or it is no JSON. */
  readonly body: unknown;
}

/** What happened to a request. */
export interface HttpOutcome {
  /** What the client was told: 0 if it never was. */
  readonly status: number;
  /** What the server answered: 0 if it was never asked. */
  readonly upstreamStatus: number;
  readonly endedAt: number;
}

/** What happens to a request that a rule takes; one that no rule takes is forwarded as it is. */
export type HttpFault<R> =
  /** Forwarded after so long. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** Answered by the proxy, never forwarded; the body defaults to an error of that status. */
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: unknown;
    }
  /** Never forwarded: the stream is reset. The client is not told whether it was processed. */
  | { readonly kind: 'refuse' }
  /** Forwarded, and its answer thrown away: the stream is reset. `run` is told how the server has answered. */
  | { readonly kind: 'lose'; readonly run?: (request: R, status: number) => void }
  /** Neither forwarded nor answered, until the client gives up or the proxy stops. */
  | { readonly kind: 'hold' }
  /** Before it is forwarded, `run` is awaited; then it is forwarded, unless its client is gone. */
  | { readonly kind: 'before'; readonly run: (request: R) => Promise<void> }
  /**
   * Forwarded; when the server has answered, `run` is awaited before the answer goes back. Then `passedOn` is told whether
   * all of it has gone to the client.
   */
  | {
      readonly kind: 'after';
      readonly run: (request: R, status: number) => Promise<void>;
      readonly passedOn?: (isDelivered: boolean) => void;
    };
