/** Requests at the proxy between listener and hub, and their faults. */
import type { HttpFault, HttpOutcome, HttpRequest } from './http-traffic.ts';
import type { ActiveRule } from './kubernetes-traffic.ts';

export type HubFault = HttpFault<HttpRequest>;

export interface HubRule {
  readonly match: (request: HttpRequest) => boolean;
  readonly fault: HubFault;
  /** Maximum number of requests to which it applies. Default: unlimited, until it is removed. */
  readonly times?: number;
}

export type HubExchange = HttpRequest & HttpOutcome;

/** Uses HTTP/1.1 without TLS. */
export interface HubProxy {
  /** Opens a port for a client. Returns a URL that reaches the hub at `url` through this port. */
  urlFor(client: string, url: string): Promise<string>;
  /** Adds a rule. The newest rule is checked first. */
  add(rule: HubRule): ActiveRule;
  /** The following three are as in `KubernetesProxy`. */
  blackhole(client?: string): void;
  cut(client?: string): void;
  open(client?: string): void;
  /** All finished exchanges since the start or the last `clear`. */
  exchanges(client?: string): readonly HubExchange[];
  clear(): void;
  connections(client?: string): number;
  /** Number of requests to the server in progress, including open watches. */
  upstreamRequests(): number;
  /** Errors that functions of rules have thrown since the last call. */
  takeFailures(): readonly Error[];
  /** @throws AggregateError with the errors of rules that were not taken */
  stop(): Promise<void>;
}
