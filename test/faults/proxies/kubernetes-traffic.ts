/** Requests at the proxy in front of the API server, and their faults. */
import type { HttpFault, HttpOutcome, HttpRequest } from './http-traffic.ts';

export type KubernetesVerb =
  | 'get'
  | 'list'
  | 'watch'
  | 'create'
  | 'apply'
  | 'patch'
  | 'update'
  | 'delete'
  | 'deletecollection';

/** One request as it reached the proxy. */
export interface KubernetesRequest extends HttpRequest {
  readonly verb: KubernetesVerb;
  /** Plural, as in the path; a request that names no resource (discovery, health) has ''. */
  readonly resource: string;
  readonly subresource: string;
  /** '' for what is in none, a Namespace itself included. */
  readonly namespace: string;
  /** Of create: the name in the body, where that is JSON (kubectl writes protobuf). '' for collections. */
  readonly name: string;
  /** The API server changes nothing. */
  readonly dryRun: boolean;
}

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: {
    readonly metadata: {
      readonly name?: string;
      readonly namespace?: string;
      readonly resourceVersion?: string;
    };
  } & Readonly<Record<string, unknown>>;
}

/** What happens to a request that a rule takes; one that no rule takes is forwarded as it is. */
export type KubernetesFault =
  | HttpFault<KubernetesRequest>
  /** A LIST is answered with what it was at an earlier moment: the answer that `recordLists` has kept. */
  | { readonly kind: 'stale-list' }
  /** Events of a watch pass unless `drop` says so; told of each event that the API server sends. */
  | { readonly kind: 'filter-watch'; readonly drop: (event: WatchEvent) => boolean }
  /**
   * After so many events, bookmarks not counted, the watch ends: in order, in the middle of the next event's line (and
   * then in order), by a reset of its stream, or with 410 as an event.
   */
  | {
      readonly kind: 'cut-watch';
      readonly afterEvents: number;
      readonly how: 'end' | 'mid-line' | 'reset' | 'gone-event';
      /** Told of each watch that it has ended: one that it took may go on for ever without an event. */
      readonly onCut?: (request: KubernetesRequest) => void;
    };

export interface KubernetesRule {
  readonly match: (request: KubernetesRequest) => boolean;
  readonly fault: KubernetesFault;
  /** How many requests it takes at most; default: every one until it is removed. */
  readonly times?: number;
}

/** A rule in force. */
export interface ActiveRule {
  /** How many requests it has taken. */
  readonly taken: () => number;
  /** Resolves when it has taken `count` requests. @throws Error after `timeoutMs` (default 60,000) */
  waitTaken(count?: number, timeoutMs?: number): Promise<void>;
  remove(): void;
}

/** The finished exchange, for counting and for oracles. */
export type KubernetesExchange = KubernetesRequest & HttpOutcome;

/** Ends TLS for its clients, speaks HTTP/2 and HTTP/1.1 with them, and passes on with the clients' own credentials. */
export interface KubernetesProxy {
  /**
   * Opens a port for a client and writes a kubeconfig that leads by it to the API server of `kubeconfig`, with the
   * credentials of `kubeconfig`. The same client keeps its port.
   */
  kubeconfigFor(client: string, kubeconfig: string): Promise<string>;
  /** The newest rule is asked first. One that filters or cuts watches takes those too that are open already. */
  add(rule: KubernetesRule): ActiveRule;
  /** Of one client or all: no byte passes any more, connections stay, new ones are taken and stay silent. */
  blackhole(client?: string): void;
  /** Of one client or all: connections are reset, new ones refused. */
  cut(client?: string): void;
  /** Ends blackhole and cut. What was held up by a blackhole is lost: its connections are reset. */
  open(client?: string): void;
  /** From now on the first answer to each LIST of this resource is kept for `stale-list`. */
  recordLists(resource: string): void;
  /** Every exchange since the start, or since `clear`. Watches appear when they begin, with status as answered. */
  exchanges(client?: string): readonly KubernetesExchange[];
  clear(): void;
  /** Open client connections now. */
  connections(client?: string): number;
  /** Watches of one client or all that the API server has answered and nobody has ended. */
  openWatches(client?: string): readonly KubernetesRequest[];
  /** Requests that are under way to the server now, open watches among them. */
  upstreamRequests(): number;
  /** What functions of rules have thrown since it was last asked for. */
  takeFailures(): readonly Error[];
  /** @throws AggregateError with what functions of rules have thrown meanwhile, and nobody has taken */
  stop(): Promise<void>;
}
