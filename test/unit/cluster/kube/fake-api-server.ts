import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type KubeObject, keyOf, type UntypedObject } from '../../../../src/cluster/kube/client/object.ts';

/** The fault of the next watch, or of the next call of a verb. */
export type WatchFault =
  | { kind: 'status'; code: number; reason?: string }
  | { kind: 'error-event'; code: number; reason?: string }
  /** Sends half an event and cuts the connection. */
  | { kind: 'cut-mid-line' }
  /** Accepts, then never sends anything. */
  | { kind: 'blackhole' }
  | { kind: 'end-at-once' };

const EXPIRED = { code: 410, reason: 'Expired' };

export interface ReceivedRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  body: unknown;
}

interface OpenWatch {
  response: ServerResponse;
  blackhole: boolean;
}

interface StoredEvent {
  version: number;
  type: string;
  object: KubeObject;
}

/**
 * One collection of objects behind the Kubernetes list, watch and write protocol, over plain HTTP, with configurable
 * faults.
 * Keeps the whole history; `compact` drops it, as etcd does.
 */
export class FakeApiServer {
  readonly requests: ReceivedRequest[] = [];
  readonly objects = new Map<string, KubeObject>();
  /** Taken from the front, one for each new watch. */
  readonly watchFaults: WatchFault[] = [];
  /** Whether it supports streamed lists. */
  streams = false;
  /** Number of requests for a stream while it does not support them. */
  refusedStreams = 0;
  /** How the next streamed lists end instead of with the final bookmark. */
  readonly streamFaults: ('end' | 'cut' | 'silence' | 'bookmarks' | 'error')[] = [];
  /** Called when the objects of a streamed list are sent, before the bookmark. */
  beforeStreamEnd: (send: (event: { type: string; object: object }) => void) => void = () => {};
  /** Called after the bookmark, with a function that sends watch events. */
  afterStreamEnd: (send: (event: { type: string; object: object }) => void) => void = () => {};
  /** Called before each call that is not a watch; returns true when it has handled the call itself. */
  intercept: (request: ReceivedRequest, response: ServerResponse) => boolean = () => false;
  readonly #server = http.createServer((request, response) => void this.#handle(request, response));
  readonly #watches = new Set<OpenWatch>();
  readonly #history: StoredEvent[] = [];
  #version = 100;
  #compactedAt = 0;

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get version(): string {
    return String(this.#version);
  }

  /** Sets the counter, for example back, like a server that was restored from a backup. */
  set version(value: string) {
    this.#version = Number(value);
  }

  get openWatches(): number {
    return this.#watches.size;
  }

  count(verb: 'list' | 'streamed list' | 'watch' | 'PUT' | 'POST' | 'PATCH' | 'DELETE' | 'GET'): number {
    return this.requests.filter(({ method, query, path }) => {
      if (verb === 'streamed list') return query.has('sendInitialEvents');
      if (verb === 'watch') return query.has('watch') && !query.has('sendInitialEvents');
      if (verb === 'list') return method === 'GET' && !query.has('watch') && isCollection(path);
      if (verb === 'GET') return method === 'GET' && !isCollection(path);
      return method === verb;
    }).length;
  }

  /** Stores an object like another writer. `silently`: without a watch event (a lost event). */
  put(object: KubeObject, { silently = false } = {}): UntypedObject {
    this.#version += 1;
    const known = this.objects.get(keyOf(object));
    const stored = {
      ...object,
      metadata: {
        uid: known?.metadata.uid ?? `uid-${this.#version}`,
        ...object.metadata,
        resourceVersion: String(this.#version),
      },
    } as UntypedObject;
    this.objects.set(keyOf(object), stored);
    this.#publish({ version: this.#version, type: known ? 'MODIFIED' : 'ADDED', object: stored }, silently);
    return stored;
  }

  remove(key: string, { silently = false } = {}): void {
    const known = this.objects.get(key);
    if (known === undefined) return;
    this.#version += 1;
    this.objects.delete(key);
    const last = { ...known, metadata: { ...known.metadata, resourceVersion: String(this.#version) } };
    this.#publish({ version: this.#version, type: 'DELETED', object: last }, silently);
  }

  /** Drops the history: older watches are answered with 410. */
  compact(): void {
    this.#compactedAt = this.#version;
    this.#history.length = 0;
  }

  bookmark(): void {
    this.#send(`${JSON.stringify({ type: 'BOOKMARK', object: bareBookmark(this.version) })}\n`);
  }

  /** Sends raw text over every open watch. */
  sendRaw(text: string): void {
    this.#send(text);
  }

  endWatches(): void {
    for (const { response } of this.#watches) response.end();
    this.#watches.clear();
  }

  cutWatches(): void {
    for (const { response } of this.#watches) response.destroy();
    this.#watches.clear();
  }

  #publish(event: StoredEvent, silently: boolean): void {
    if (silently) return;
    this.#history.push(event);
    this.#send(line(event));
  }

  #send(text: string): void {
    for (const watch of this.#watches) if (!watch.blackhole) watch.response.write(text);
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://fake');
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const seen: ReceivedRequest = {
      method: request.method ?? 'GET',
      path: url.pathname,
      query: url.searchParams,
      body: text === '' ? undefined : JSON.parse(text),
    };
    if (seen.query.has('sendInitialEvents')) {
      this.#stream(seen, response);
      return;
    }
    this.requests.push(seen);
    if (seen.query.has('watch')) this.#watch(seen, response);
    else if (!this.intercept(seen, response)) this.#answer(seen, response);
  }

  /** Like kube-apiserver. Rejections of a server without streams are not recorded as requests. */
  #stream(seen: ReceivedRequest, response: ServerResponse): void {
    if (!this.streams) {
      this.refusedStreams += 1;
      sendStatus(response, 422, 'Invalid');
      return;
    }
    this.requests.push(seen);
    if (this.intercept(seen, response)) return;
    response.writeHead(200, { 'content-type': 'application/json' });
    const send = (event: { type: string; object: object }) =>
      void response.write(`${JSON.stringify(event)}\n`);
    for (const object of this.objects.values()) send({ type: 'ADDED', object });
    this.beforeStreamEnd(send);
    const fault = this.streamFaults.shift();
    if (fault === 'end') response.end();
    if (fault === 'error')
      send({ type: 'ERROR', object: { kind: 'Status', code: 400, reason: 'BadRequest' } });
    if (fault === 'bookmarks') {
      const timer = setInterval(() => send({ type: 'BOOKMARK', object: bareBookmark(this.version) }), 5);
      response.once('close', () => clearInterval(timer));
    }
    if (fault === 'cut') setImmediate(() => response.destroy());
    if (fault !== undefined) return;
    const annotations = { 'k8s.io/initial-events-end': 'true' };
    const { metadata, ...rest } = bareBookmark(this.version);
    send({ type: 'BOOKMARK', object: { ...rest, metadata: { ...metadata, annotations } } });
    this.afterStreamEnd(send);
  }

  #watch({ query }: ReceivedRequest, response: ServerResponse): void {
    const from = Number(query.get('resourceVersion'));
    const fault = this.watchFaults.shift();
    const refused = fault?.kind === 'status' ? fault : from < this.#compactedAt ? EXPIRED : undefined;
    if (refused !== undefined) {
      sendStatus(response, refused.code, refused.reason);
      return;
    }
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    if (fault?.kind === 'error-event') {
      const object = { kind: 'Status', code: fault.code, reason: fault.reason, message: 'as ordered' };
      response.end(`${JSON.stringify({ type: 'ERROR', object })}\n`);
      return;
    }
    if (fault?.kind === 'end-at-once') {
      response.end();
      return;
    }
    const watch: OpenWatch = { response, blackhole: fault?.kind === 'blackhole' };
    this.#watches.add(watch);
    response.once('close', () => this.#watches.delete(watch));
    if (watch.blackhole) return;
    const due = this.#history.filter((event) => event.version > from).map(line);
    if (fault?.kind !== 'cut-mid-line') {
      for (const text of due) response.write(text);
      return;
    }
    const whole = due[0] ?? line({ version: 0, type: 'ADDED', object: bareObject('never-complete') });
    response.write(whole.slice(0, whole.length / 2), () => response.destroy());
  }

  #answer(request: ReceivedRequest, response: ServerResponse): void {
    if (request.method === 'GET' && isCollection(request.path)) {
      this.#list(request.query, response);
      return;
    }
    const [code, answer] = this.#result(request);
    if (typeof answer === 'string') sendStatus(response, code, answer);
    else sendJson(response, code, answer);
  }

  /** Status with the object, or with the reason of the failure. */
  #result({ method, path, body }: ReceivedRequest): [number, object | string] {
    const key = keyFromPath(path);
    const known = this.objects.get(key);
    const sent = body as KubeObject | undefined;
    if (method === 'POST') {
      if (sent === undefined) return [400, 'BadRequest'];
      return this.objects.has(keyOf(sent)) ? [409, 'AlreadyExists'] : [201, this.put(sent)];
    }
    if (known === undefined) return [404, 'NotFound'];
    if (method === 'GET') return [200, known];
    if (method === 'DELETE') {
      this.remove(key);
      return [200, { kind: 'Status', status: 'Success' }];
    }
    const stale = sent?.metadata?.resourceVersion;
    if (stale !== undefined && stale !== known.metadata.resourceVersion) return [409, 'Conflict'];
    const merged =
      method === 'PUT' ? sent : { ...known, ...sent, metadata: { ...known.metadata, ...sent?.metadata } };
    return [200, this.put(merged as KubeObject)];
  }

  #list(query: URLSearchParams, response: ServerResponse): void {
    const all = [...this.objects.values()];
    const limit = Number(query.get('limit') ?? all.length) || all.length;
    const from = Number(query.get('continue') ?? 0);
    const more = from + limit < all.length;
    sendJson(response, 200, {
      kind: 'List',
      metadata: { resourceVersion: this.version, ...(more && { continue: String(from + limit) }) },
      // Items of typed lists come without apiVersion and kind.
      items: all.slice(from, from + limit).map(({ apiVersion: _version, kind: _kind, ...rest }) => rest),
    });
  }
}

/** A ConfigMap in namespace `ns`. */
export function bareObject(name: string, fields: object = {}): UntypedObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'ns' }, ...fields };
}

const bareBookmark = (resourceVersion: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { resourceVersion },
});

export function sendStatus(
  response: ServerResponse,
  code: number,
  reason = '',
  headers: http.OutgoingHttpHeaders = {},
): void {
  response.writeHead(code, { 'content-type': 'application/json', ...headers });
  const details = { name: 'some-object' };
  response.end(JSON.stringify({ kind: 'Status', code, reason, details, message: `as ordered: ${reason}` }));
}

function sendJson(response: ServerResponse, code: number, body: object): void {
  response.writeHead(code, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function line({ type, object }: StoredEvent): string {
  return `${JSON.stringify({ type, object })}\n`;
}

/** Collections end with the plural: `/api/v1/configmaps`, `/api/v1/namespaces/ns/configmaps`. */
function isCollection(path: string): boolean {
  return path.split('/').filter(Boolean).length % 2 === 1
    ? path.startsWith('/api/')
    : path.startsWith('/apis/');
}

function keyFromPath(path: string): string {
  const parts = path.split('/').filter(Boolean);
  const at = parts.indexOf('namespaces');
  return at < 0 ? (parts.at(-1) ?? '') : `${parts[at + 1]}/${parts[at + 3]}`;
}
