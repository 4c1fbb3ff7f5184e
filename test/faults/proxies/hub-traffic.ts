/** Requests at the proxy between listener and hub, and their faults. */
import type { HttpFault, HttpOutcome, HttpRequest } from './http-traffic.ts';
import type { ActiveRule } from './kubernetes-traffic.ts';

export type HubFault = HttpFault<HttpRequest>;

export interface HubRule {
  readonly match: (request: HttpRequest) => boolean;
  readonly fault: HubFault;
  /** How many requests it takes at most; default: every one until it is removed. */
  readonly times?: number;
}

export type HubExchange = HttpRequest & HttpOutcome;

/** Speaks HTTP/1.1 in the clear with its clients. */
export interface HubProxy {
  /** Opens a port for a client; returns the URL that leads by it to the hub at `url`. */
  urlFor(client: string, url: string): Promise<string>;
  /** The newest rule is asked first. */
  add(rule: HubRule): ActiveRule;
  /** As of the proxy before the API server. */
  blackhole(client?: string): void;
  cut(client?: string): void;
  open(client?: string): void;
  /** Every finished exchange since the start, or since `clear`. */
  exchanges(client?: string): readonly HubExchange[];
  clear(): void;
  connections(client?: string): number;
  /** Requests that are under way to the server now, open watches among them. */
  upstreamRequests(): number;
  /** What functions of rules have thrown since it was last asked for. */
  takeFailures(): readonly Error[];
  /** @throws AggregateError with what functions of rules have thrown meanwhile, and nobody has taken */
  stop(): Promise<void>;
}
