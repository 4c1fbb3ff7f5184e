import type { HttpCall, HttpExecutor } from '../transport/http-executor.ts';
import type {
  ApplyOptions,
  CallOptions,
  DeleteOptions,
  KubeClient,
  ListAllOptions,
  ListOptions,
  LogOptions,
  ObjectList,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from './client-types.ts';
import { isKubeError, KubeError } from './errors.ts';
import { Lists } from './lists.ts';
import type { LogLine } from './log-lines.ts';
import { type KubeObject, keyOf, type ObjectName, type UntypedObject } from './object.ts';
import { readLog } from './pod-log.ts';
import { type Resource, resourceOf, resourcePath } from './resources.ts';
import { openWatch } from './watch.ts';

/** {@link KubeClient} over HTTP: maps operations and kinds to calls. */
export class RestClient implements KubeClient {
  readonly #http: HttpExecutor;
  readonly #lists: Lists;

  constructor(http: HttpExecutor) {
    this.#http = http;
    this.#lists = new Lists(http);
  }

  async get<T extends KubeObject = UntypedObject>(
    resource: Resource,
    at: ObjectName,
    options: CallOptions = {},
  ): Promise<T> {
    const call = this.#call('get', 'GET', resource, at, options);
    return (await this.#http.call(call)).body as T;
  }

  async find<T extends KubeObject = UntypedObject>(
    resource: Resource,
    at: ObjectName,
    options?: CallOptions,
  ): Promise<T | undefined> {
    try {
      return await this.get<T>(resource, at, options);
    } catch (error) {
      if (isKubeError(error, 'not_found')) return undefined;
      throw error;
    }
  }

  list<T extends KubeObject = UntypedObject>(
    resource: Resource,
    options: ListOptions = {},
  ): Promise<ObjectList<T>> {
    return this.#lists.page<T>(resource, options);
  }

  listAll<T extends KubeObject = UntypedObject>(
    resource: Resource,
    options: ListAllOptions<T> = {},
  ): Promise<ObjectList<T>> {
    return this.#lists.all<T>(resource, options);
  }

  async create<T extends KubeObject>(object: T, options: WriteOptions = {}): Promise<T> {
    const resource = resourceOf(object);
    const { namespace, name } = object.metadata;
    const call = this.#call('create', 'POST', resource, { namespace, name }, options);
    call.path = resourcePath(resource, {
      namespace,
      name: options.subresource ? name : undefined,
      ...subresourceOf(options),
    });
    return this.#write<T>({ ...call, body: object }, options);
  }

  apply<T extends KubeObject>(object: T, options: ApplyOptions): Promise<T> {
    const call = this.#call('apply', 'PATCH', resourceOf(object), object.metadata, options);
    call.query = { ...call.query, force: options.force ?? true };
    return this.#write<T>({ ...call, body: object, contentType: 'application/apply-patch+yaml' }, options);
  }

  applyStatus<T extends KubeObject>(object: T, options: ApplyOptions): Promise<T> {
    return this.apply(object, { ...options, subresource: 'status' });
  }

  async replace<T extends KubeObject>(object: T, options: WriteOptions = {}): Promise<T> {
    const resource = resourceOf(object);
    if (!object.metadata.resourceVersion) {
      throw new KubeError({
        kind: 'bad_request',
        message:
          `failed to update ${resource.kind} ${keyOf(object)}: a replacement needs the resourceVersion of the ` +
          `replaced object`,
      });
    }
    return this.#write<T>(
      { ...this.#call('update', 'PUT', resource, object.metadata, options), body: object },
      options,
    );
  }

  replaceStatus<T extends KubeObject>(object: T, options: WriteOptions = {}): Promise<T> {
    return this.replace(object, { ...options, subresource: 'status' });
  }

  patch<T extends KubeObject = UntypedObject>(
    resource: Resource,
    at: ObjectName,
    patch: object,
    options: WriteOptions = {},
  ): Promise<T> {
    const call = this.#call('patch', 'PATCH', resource, at, options);
    const form = options.strategic === true ? 'strategic-merge-patch' : 'merge-patch';
    return this.#write<T>({ ...call, body: patch, contentType: `application/${form}+json` }, options);
  }

  async delete(resource: Resource, at: ObjectName, options: DeleteOptions = {}): Promise<void> {
    const { uid, resourceVersion, propagationPolicy, dryRun } = options;
    await this.#http.call({
      ...this.#call('delete', 'DELETE', resource, at, options),
      body: {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        preconditions: uid || resourceVersion ? { uid, resourceVersion } : undefined,
        propagationPolicy,
        dryRun: dryRun ? ['All'] : undefined,
      },
      dryRun,
    });
  }

  watch<T extends KubeObject = UntypedObject>(
    resource: Resource,
    options: WatchOptions,
    onEvent: (event: WatchEvent<T>) => void,
  ): Promise<void> {
    return openWatch(this.#http, resource, options, onEvent);
  }

  readLog(at: ObjectName, options: LogOptions): AsyncIterable<LogLine> {
    return readLog(this.#http, at, options);
  }

  async serverVersion(
    options: CallOptions = {},
  ): Promise<{ major: string; minor: string; gitVersion: string }> {
    const { body } = await this.request('GET', '/version', options);
    const { major, minor, gitVersion } = body as Record<'major' | 'minor' | 'gitVersion', string>;
    return { major, minor, gitVersion };
  }

  request(
    method: string,
    path: string,
    options: CallOptions & { body?: unknown; contentType?: string } = {},
  ): Promise<{ status: number; body: unknown }> {
    const url = new URL(path, 'http://server');
    return this.#http.call({
      method,
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      body: options.body,
      contentType: options.contentType,
      action: `${method} ${url.pathname}`,
      verb: 'raw',
      resource: '',
      timeoutMs: options.timeoutMs,
      signal: options.signal,
    });
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  #call(verb: string, method: string, resource: Resource, at: ObjectName, options: WriteOptions): HttpCall {
    return {
      method,
      verb,
      path: resourcePath(resource, { namespace: at.namespace, name: at.name, ...subresourceOf(options) }),
      resource: options.subresource ? `${resource.plural}/${options.subresource}` : resource.plural,
      action: `${verb} ${resource.kind}${options.subresource ? `/${options.subresource}` : ''} ${keyOf(at)}`,
      confidential: resource.kind === 'Secret',
      // Lease writes bypass the limits, so that a leader does not lose its lease while tenants' writes hang or are
      // rejected.
      atOnce: resource.kind === 'Lease',
      timeoutMs: options.timeoutMs,
      signal: options.signal,
    };
  }

  async #write<T>(call: HttpCall, { dryRun, fieldManager }: WriteOptions): Promise<T> {
    const { body } = await this.#http.call({
      ...call,
      // With strict validation, an unknown field is an error. Otherwise the server would drop the field silently, and
      // it would be written again forever.
      query: { ...call.query, fieldManager, dryRun: dryRun ? 'All' : undefined, fieldValidation: 'Strict' },
      dryRun,
    });
    return body as T;
  }
}

function subresourceOf({ subresource }: WriteOptions): { subresource?: string } {
  return subresource === undefined ? {} : { subresource };
}
