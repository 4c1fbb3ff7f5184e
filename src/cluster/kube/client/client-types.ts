import type { LogLine } from './log-lines.ts';
import type { KubeObject, ObjectName, UntypedObject } from './object.ts';
import type { Resource } from './resources.ts';

export interface CallOptions {
  /** Deadline of the call in milliseconds, from being sent to the last byte; default: the client's requestTimeoutMs. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

export interface WriteOptions extends CallOptions {
  /** The server checks and admits, but stores nothing. */
  dryRun?: boolean;
  /** Of a patch: a strategic merge, which finds entries of lists by their keys. Kinds of Kubernetes only. */
  strategic?: boolean;
  fieldManager?: string;
  subresource?: string;
}

export interface ApplyOptions extends WriteOptions {
  fieldManager: string;
  /** Take fields over from other managers instead of failing with a conflict. Default true: a controller must. */
  force?: boolean;
}

export interface DeleteOptions extends CallOptions {
  /** Preconditions: a mismatch is a `conflict`. */
  uid?: string;
  resourceVersion?: string;
  propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  gracePeriodSeconds?: number;
  dryRun?: boolean;
}

export interface Selection {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
}

export interface ListOptions extends CallOptions, Selection {
  /** Page size; absent: everything in one answer. */
  limit?: number;
  continue?: string;
  resourceVersion?: string;
  resourceVersionMatch?: 'Exact' | 'NotOlderThan';
}

export interface ListAllOptions<T>
  extends Omit<ListOptions, 'continue' | 'resourceVersion' | 'resourceVersionMatch'> {
  /** Applied to each item as it arrives, so that the full objects need not all be in memory at once. */
  transform?: (item: T) => T;
  /**
   * As a stream of events where the server has that, else in pages (streamed-list.ts); of the most recent state. For whoever
   * lists much: it needs the right to watch too. `timeoutMs` is then how long the server may go without an object;
   * `limit` is of pages alone.
   */
  streamed?: boolean;
}

export interface ObjectList<T> {
  items: T[];
  resourceVersion: string;
  /** Token of the next page; absent on the last. */
  continue?: string;
}

export interface WatchOptions extends Selection {
  resourceVersion: string;
  /** The server ends the watch after this many seconds. */
  timeoutSeconds: number;
  /** Without a byte for this long, the watch fails with `timeout`. */
  idleTimeoutMs: number;
  signal?: AbortSignal;
  /** The server has accepted the watch. */
  onOpen?: () => void;
}

export interface WatchEvent<T extends KubeObject = UntypedObject> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  object: T;
}

export interface LogOptions {
  container: string;
  /** RFC 3339; only what was written from then on. The kubelet takes it to the second. */
  since?: string | undefined;
  /** Most lines of what is there already, the newest ones. */
  tail?: number | undefined;
  /** Goes on until the container has ended. */
  follow?: boolean | undefined;
  /** Of the run before the present one; `bad_request` where there was none. */
  previous?: boolean | undefined;
  /** Until the first byte of the answer; default: the client's requestTimeoutMs. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** One finished call, for metrics and for tests that count. */
export interface ObservedRequest {
  method: string;
  /** Path without query. */
  path: string;
  /** get, list, watch, create, apply, patch, update, delete, or raw. */
  verb: string;
  /** Plural of the resource, with subresource: `deployments`, `manageddeployments/status`; '' for raw calls. */
  resource: string;
  dryRun: boolean;
  /** HTTP status; 0 when there was no answer. */
  status: number;
  durationMs: number;
}
export type RequestObserver = (request: ObservedRequest) => void;

export interface KubeClientOptions {
  kubeconfigPath?: string;
  /** Use the pod's service account; wins over kubeconfigPath. */
  inCluster?: boolean;
  /** Context of the kubeconfig; default: its current one. */
  context?: string;
  userAgent: string;
  requestTimeoutMs: number;
  /** Most writes under way at once (default 16), of one tenant 8, of one with much to do 2, and 1 beside another one; of further ones tenants take turns. */
  maxWritesInFlight?: number;
  /** For exec plugins and the in-cluster address (KUBERNETES_SERVICE_HOST and _PORT); the kube room does not look for it itself. */
  environment?: Readonly<Record<string, string | undefined>>;
  /** Default `auto`: HTTP/2 where the server offers it. */
  protocol?: 'auto' | 'http1';
  /** HTTP/2: a connection that swallows everything is noticed within the sum of both; default 10 s and 5 s. */
  pingIntervalMs?: number;
  pingTimeoutMs?: number;
  observer?: RequestObserver;
}

/** Every method fails with a KubeError. Objects are sent as given: build them fresh, never from an observed object. */
export interface KubeClient {
  get<T extends KubeObject = UntypedObject>(
    resource: Resource,
    at: ObjectName,
    options?: CallOptions,
  ): Promise<T>;
  /** As get, but an object that is not there is `undefined`; a kind that is not there is `unknown_resource`. */
  find<T extends KubeObject = UntypedObject>(
    resource: Resource,
    at: ObjectName,
    options?: CallOptions,
  ): Promise<T | undefined>;
  /** One page. Items carry apiVersion and kind (the server leaves them out of lists). */
  list<T extends KubeObject = UntypedObject>(
    resource: Resource,
    options?: ListOptions,
  ): Promise<ObjectList<T>>;
  /** Everything; starts over without paging when a page token expires on the way. */
  listAll<T extends KubeObject = UntypedObject>(
    resource: Resource,
    options?: ListAllOptions<T>,
  ): Promise<ObjectList<T>>;
  create<T extends KubeObject>(object: T, options?: WriteOptions): Promise<T>;
  /**
   * Server-side apply. With `metadata.uid` set a missing object is refused (`conflict`); without, it is created.
   */
  apply<T extends KubeObject>(object: T, options: ApplyOptions): Promise<T>;
  /** Server-side apply of the status subresource. */
  applyStatus<T extends KubeObject>(object: T, options: ApplyOptions): Promise<T>;
  /** PUT of the status subresource: needs metadata.resourceVersion; a stale one is a `conflict`. */
  replaceStatus<T extends KubeObject>(object: T, options?: WriteOptions): Promise<T>;
  /** JSON merge patch (RFC 7396); `subresource` for status or scale. */
  patch<T extends KubeObject = UntypedObject>(
    resource: Resource,
    at: ObjectName,
    patch: object,
    options?: WriteOptions,
  ): Promise<T>;
  patchStatus<T extends KubeObject = UntypedObject>(
    resource: Resource,
    at: ObjectName,
    patch: object,
    options?: WriteOptions,
  ): Promise<T>;
  /** PUT of the whole object: needs metadata.resourceVersion. */
  replace<T extends KubeObject>(object: T, options?: WriteOptions): Promise<T>;
  delete(resource: Resource, at: ObjectName, options?: DeleteOptions): Promise<void>;
  /** Resolves when the server ends the watch in order; fails on everything else, ERROR events included. */
  watch<T extends KubeObject = UntypedObject>(
    resource: Resource,
    options: WatchOptions,
    onEvent: (event: WatchEvent<T>) => void,
  ): Promise<void>;
  /** The log of a container of a pod, line by line; stop reading to end it. */
  readLog(at: ObjectName, options: LogOptions): AsyncIterable<LogLine>;
  serverVersion(options?: CallOptions): Promise<{ major: string; minor: string; gitVersion: string }>;
  /** Any call; `body` is sent as JSON. Fails on status ≥ 400. */
  request(
    method: string,
    path: string,
    options?: CallOptions & { body?: unknown; contentType?: string },
  ): Promise<{ status: number; body: unknown }>;
  close(): Promise<void>;
}
