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
  /** Plural, as in the path. '' for a request without a resource (discovery, health). */
  readonly resource: string;
  readonly subresource: string;
  /** '' for cluster-scoped objects, including namespaces. */
  readonly namespace: string;
  /** For create: the name in the body, if the body is JSON (kubectl sends protobuf). '' for collections. */
  readonly name: string;
  /** Whether the API server stores nothing. */
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

/** What happens to a request to which a rule applies. Other requests are forwarded unchanged. */
export type KubernetesFault =
  | HttpFault<KubernetesRequest>
  /** Answers a LIST with the earlier response that `recordLists` has recorded. */
  | { readonly kind: 'stale-list' }
  /** Drops the events of a watch for which `drop` returns true. `drop` gets every event of the API server. */
  | { readonly kind: 'filter-watch'; readonly drop: (event: WatchEvent) => boolean }
  /**
   * Ends the watch after this number of events, not counting bookmarks: without an error, in the middle of the next line, by a
   * reset of the stream, or with 410 as an event.
   */
  | {
      readonly kind: 'cut-watch';
      readonly afterEvents: number;
      readonly how: 'end' | 'mid-line' | 'reset' | 'gone-event';
      /** Called for each watch that was ended. A watch to which the rule applies may never have another event. */
      readonly onCut?: (request: KubernetesRequest) => void;
    };

export interface KubernetesRule {
  readonly match: (request: KubernetesRequest) => boolean;
  readonly fault: KubernetesFault;
  /** Maximum number of requests to which it applies. Default: unlimited, until it is removed. */
  readonly times?: number;
}

/** A rule that was added to a proxy. */
export interface ActiveRule {
  /** Number of requests to which it has been applied. */
  readonly taken: () => number;
  /** Resolves when it has been applied to `count` requests. @throws Error after `timeoutMs` (default 60,000) */
  waitTaken(count?: number, timeoutMs?: number): Promise<void>;
  remove(): void;
}

/** A request and its outcome, for counting and for oracles. */
export type KubernetesExchange = KubernetesRequest & HttpOutcome;

/** Terminates TLS, supports HTTP/2 and HTTP/1.1, and forwards requests with the credentials of the client. */
export interface KubernetesProxy {
  /**
   * Opens a port for a client, and writes a kubeconfig that reaches the API server of `kubeconfig` through this port, with the
   * same credentials. A client keeps its port. Returns the path of the file.
   */
  kubeconfigFor(client: string, kubeconfig: string): Promise<string>;
  /** Adds a rule. The newest rule is checked first. Rules that filter or cut watches also apply to open watches. */
  add(rule: KubernetesRule): ActiveRule;
  /** Stops all bytes of one client or of all. Connections stay open, and new ones are accepted but silent. */
  blackhole(client?: string): void;
  /** Resets all connections of one client or of all, and rejects new ones. */
  cut(client?: string): void;
  /** Ends blackhole and cut. A blackhole has lost bytes, so its connections are reset. */
  open(client?: string): void;
  /** From now on, records the first response to each LIST of this resource for `stale-list`. */
  recordLists(resource: string): void;
  /** All exchanges since the start or the last `clear`. A watch is recorded when it begins. */
  exchanges(client?: string): readonly KubernetesExchange[];
  clear(): void;
  /** Number of open client connections. */
  connections(client?: string): number;
  /** The open watches of one client or of all. */
  openWatches(client?: string): readonly KubernetesRequest[];
  /** Number of requests to the server in progress, including open watches. */
  upstreamRequests(): number;
  /** Errors that functions of rules have thrown since the last call. */
  takeFailures(): readonly Error[];
  /** @throws AggregateError with the errors of rules that were not taken */
  stop(): Promise<void>;
}
