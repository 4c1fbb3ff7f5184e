/** Types that the proxies in front of HTTP servers share. */

/** One request as it reached a proxy. */
export interface HttpRequest {
  /** Number in the order of arrival at this proxy, from 1. */
  readonly seq: number;
  /** Name of the client, derived from the port: each client has its own port. */
  readonly client: string;
  readonly method: string;
  /** Including the query. */
  readonly path: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The parsed JSON body. Undefined if there is no body, or it is not JSON. */
  readonly body: unknown;
}

/** What happened to a request. */
export interface HttpOutcome {
  /** The status that the client got. 0 if it got no response. */
  readonly status: number;
  /** The status of the server's response. 0 if the request was not forwarded. */
  readonly upstreamStatus: number;
  readonly endedAt: number;
}

/** What happens to a request to which a rule applies. Other requests are forwarded unchanged. */
export type HttpFault<R> =
  /** Forwarded after this time. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** Answered by the proxy and not forwarded. By default, the body is an error with this status. */
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: unknown;
    }
  /** Not forwarded: the stream is reset. The client does not know whether the request was processed. */
  | { readonly kind: 'refuse' }
  /** Forwarded, but the response is discarded and the stream is reset. `run` gets the status of the response. */
  | { readonly kind: 'lose'; readonly run?: (request: R, status: number) => void }
  /** Neither forwarded nor answered, until the client gives up or the proxy stops. */
  | { readonly kind: 'hold' }
  /** Forwarded after `run` has resolved, unless the client has disconnected. */
  | { readonly kind: 'before'; readonly run: (request: R) => Promise<void> }
  /**
   * Forwarded. The response is delivered after `run` has resolved. Then `passedOn` is called with whether the complete response
   * was sent to the client.
   */
  | {
      readonly kind: 'after';
      readonly run: (request: R, status: number) => Promise<void>;
      readonly passedOn?: (isDelivered: boolean) => void;
    };
