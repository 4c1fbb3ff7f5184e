import type { LogLine } from './log-lines.ts';
import type { KubeObject, ObjectName, UntypedObject } from './object.ts';
import type { Resource } from './resources.ts';

export interface CallOptions {
  /** Deadline of the call in milliseconds, from sending it to the last byte; default: the client's requestTimeoutMs. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

export interface WriteOptions extends CallOptions {
  /** The server validates and admits the object, but does not store it. */
  dryRun?: boolean;
  /** For a patch: a strategic merge, which matches list entries by their keys. Only for built-in kinds. */
  strategic?: boolean;
  fieldManager?: string;
  subresource?: string;
}

export interface ApplyOptions extends WriteOptions {
  fieldManager: string;
  /**
   * Takes over fields of other managers instead of failing with a conflict. Default: true, as recommended for
   * controllers.
   */
  force?: boolean;
}

export interface DeleteOptions extends CallOptions {
  /** Preconditions. A mismatch is a `conflict`. */
  uid?: string;
  resourceVersion?: string;
  propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  dryRun?: boolean;
}

export interface Selection {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
}

export interface ListOptions extends CallOptions, Selection {
  /** Page size; absent: everything in one response. */
  limit?: number;
  continue?: string;
  /** Maximum size of the response; a larger one is a `response_too_large`. Absent: unlimited. */
  maxBytes?: number;
  resourceVersion?: string;
  resourceVersionMatch?: 'Exact' | 'NotOlderThan';
}

export interface ListAllOptions<T>
  extends Omit<ListOptions, 'continue' | 'maxBytes' | 'resourceVersion' | 'resourceVersionMatch'> {
  /** Applied to each item as it arrives, so that the full objects are not all in memory at once. */
  transform?: (item: T) => T;
  /**
   * Lists as a stream of events if the server supports it, otherwise in pages (streamed-list.ts); always the most
   * recent state. Intended for large lists. This method also needs the right to watch. `timeoutMs` is then the longest
   * time without an object, and `limit` applies only to pages.
   */
  streamed?: boolean;
}

export interface ObjectList<T> {
  items: T[];
  resourceVersion: string;
  /** Token of the next page; absent on the last page. */
  continue?: string;
}

export interface WatchOptions extends Selection {
  resourceVersion: string;
  /** The server ends the watch after this many seconds. */
  timeoutSeconds: number;
  /** The watch fails with `timeout` after this time without a byte. */
  idleTimeoutMs: number;
  signal?: AbortSignal;
  /** Called when the server has accepted the watch. */
  onOpen?: () => void;
}

export interface WatchEvent<T extends KubeObject = UntypedObject> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  object: T;
}

export interface LogOptions {
  container: string;
  /** RFC 3339. Returns only lines from this time on. The kubelet compares whole seconds. */
  since?: string | undefined;
  /** Maximum number of existing lines. The newest lines are returned. */
  tail?: number | undefined;
  /** Continues until the container has ended. */
  follow?: boolean | undefined;
  /** The previous run of the container; `bad_request` if there was none. */
  previous?: boolean | undefined;
  /** Until the first byte of the response; default: the client's requestTimeoutMs. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** One finished call, for metrics and for tests that count calls. */
export interface ObservedRequest {
  /** HTTP method. */
  method: string;
  /** Host of the API server, with its port if it is not the default of the scheme. */
  host: string;
  /** Path without query. */
  path: string;
  /** get, list, watch, create, apply, patch, update, delete, or raw. */
  verb: string;
  /** Plural of the resource, with subresource: `deployments`, `manageddeployments/status`; '' for raw calls. */
  resource: string;
  dryRun: boolean;
  /** HTTP status; 0 without a response. */
  status: number;
  durationMs: number;
}
export type RequestObserver = (request: ObservedRequest) => void;

export interface KubeClientOptions {
  kubeconfigPath?: string;
  /** Uses the pod's service account. Takes precedence over kubeconfigPath. */
  inCluster?: boolean;
  /** Context of the kubeconfig; default: its current context. */
  context?: string;
  userAgent: string;
  requestTimeoutMs: number;
  /**
   * Maximum number of concurrent writes (default 16). One tenant has at most 3 concurrent writes. Tenants take turns
   * with further writes.
   */
  maxWritesInFlight?: number;
  /** Environment with the in-cluster address (KUBERNETES_SERVICE_HOST and _PORT). */
  environment?: Readonly<Record<string, string | undefined>>;
  /** Folder of the pod's service account. Default: the usual one. */
  serviceAccountPath?: string;
  /** Default `auto`: HTTP/2 if the server offers it. */
  protocol?: 'auto' | 'http1';
  /**
   * HTTP/2 only. A dead connection is detected within the sum of pingIntervalMs and pingTimeoutMs; default 10 s and 5
   * s.
   */
  pingIntervalMs?: number;
  pingTimeoutMs?: number;
  observer?: RequestObserver;
}

/**
 * Every method fails with a KubeError. Objects are sent as given, so callers build them from scratch, never from an
 * observed object.
 */
export interface KubeClient {
  get<T extends KubeObject = UntypedObject>(
    resource: Resource,
    at: ObjectName,
    options?: CallOptions,
  ): Promise<T>;
  /** Like get, but a missing object is `undefined`; a missing kind is `unknown_resource`. */
  find<T extends KubeObject = UntypedObject>(
    resource: Resource,
    at: ObjectName,
    options?: CallOptions,
  ): Promise<T | undefined>;
  /** One page. Items carry apiVersion and kind (the server omits them in lists). */
  list<T extends KubeObject = UntypedObject>(
    resource: Resource,
    options?: ListOptions,
  ): Promise<ObjectList<T>>;
  /** All objects. Lists again without paging when a page token expires. */
  listAll<T extends KubeObject = UntypedObject>(
    resource: Resource,
    options?: ListAllOptions<T>,
  ): Promise<ObjectList<T>>;
  create<T extends KubeObject>(object: T, options?: WriteOptions): Promise<T>;
  /**
   * Server-side apply. With `metadata.uid`, a missing object is a `conflict`. Without `metadata.uid`, a missing object
   * is created.
   */
  apply<T extends KubeObject>(object: T, options: ApplyOptions): Promise<T>;
  /** Server-side apply of the status subresource. */
  applyStatus<T extends KubeObject>(object: T, options: ApplyOptions): Promise<T>;
  /** PUT of the status subresource. Requires metadata.resourceVersion; a stale resourceVersion is a `conflict`. */
  replaceStatus<T extends KubeObject>(object: T, options?: WriteOptions): Promise<T>;
  /** JSON merge patch (RFC 7396); `subresource` for status or scale. */
  patch<T extends KubeObject = UntypedObject>(
    resource: Resource,
    at: ObjectName,
    patch: object,
    options?: WriteOptions,
  ): Promise<T>;
  /** PUT of the whole object. Requires metadata.resourceVersion. */
  replace<T extends KubeObject>(object: T, options?: WriteOptions): Promise<T>;
  delete(resource: Resource, at: ObjectName, options?: DeleteOptions): Promise<void>;
  /** Resolves when the server ends the watch regularly; fails in all other cases, including ERROR events. */
  watch<T extends KubeObject = UntypedObject>(
    resource: Resource,
    options: WatchOptions,
    onEvent: (event: WatchEvent<T>) => void,
  ): Promise<void>;
  /** The log of a container, line by line. The call ends when the caller stops iterating. */
  readLog(at: ObjectName, options: LogOptions): AsyncIterable<LogLine>;
  serverVersion(options?: CallOptions): Promise<{ major: string; minor: string; gitVersion: string }>;
  /** Any other call; `body` is sent as JSON. Fails for a status of 400 or above. */
  request(
    method: string,
    path: string,
    options?: CallOptions & { body?: unknown; contentType?: string },
  ): Promise<{ status: number; body: unknown }>;
  close(): Promise<void>;
}
