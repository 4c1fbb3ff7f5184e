import type { ListAllOptions, ListOptions, ObjectList } from './client-types.ts';
import { isKubeError } from './errors.ts';
import type { HttpExecutor } from './http-executor.ts';
import type { KubeObject } from './object.ts';
import { apiVersionOf, type Resource, resourcePath } from './resources.ts';
import { streamedList } from './streamed-list.ts';

const DEFAULT_PAGE_SIZE = 200;

/** What a client lists: a page, or everything, as a stream or page by page. */
export class Lists {
  readonly #http: HttpExecutor;
  /** The server has said that it has no streamed lists. */
  #hasStreams = true;
  /** Kinds whose last list broke off as a stream: the next one comes in pages, whatever it was that stood in the way. */
  readonly #brokenOff = new Set<string>();

  constructor(http: HttpExecutor) {
    this.#http = http;
  }

  async page<T extends KubeObject>(resource: Resource, options: ListOptions): Promise<ObjectList<T>> {
    const { namespace, labelSelector, fieldSelector, limit, resourceVersion, resourceVersionMatch } = options;
    const { body } = await this.#http.call({
      method: 'GET',
      path: resourcePath(resource, { namespace }),
      query: {
        labelSelector,
        fieldSelector,
        limit,
        continue: options.continue,
        resourceVersion,
        resourceVersionMatch,
      },
      action: `list ${resource.plural}${namespace ? ` in ${namespace}` : ''}`,
      verb: 'list',
      resource: resource.plural,
      timeoutMs: options.timeoutMs,
      signal: options.signal,
    });
    return readList<T>(resource, body);
  }

  async all<T extends KubeObject>(
    resource: Resource,
    { streamed = false, ...options }: ListAllOptions<T>,
  ): Promise<ObjectList<T>> {
    const isStreamed = streamed && this.#hasStreams && !this.#brokenOff.has(resource.plural);
    const list = isStreamed ? await this.#stream<T>(resource, options) : undefined;
    if (list !== undefined) return list;
    const paged = await this.#pages<T>(resource, options);
    this.#brokenOff.delete(resource.plural);
    return paged;
  }

  /** undefined: the server has none. */
  async #stream<T extends KubeObject>(
    resource: Resource,
    options: ListAllOptions<T>,
  ): Promise<ObjectList<T> | undefined> {
    try {
      return await streamedList<T>(this.#http, resource, options);
    } catch (error) {
      if (isKubeError(error, 'invalid', 'bad_request')) {
        this.#hasStreams = false;
        return undefined;
      }
      this.#brokenOff.add(resource.plural);
      throw error;
    }
  }

  async #pages<T extends KubeObject>(
    resource: Resource,
    { transform = (item) => item, ...options }: ListAllOptions<T>,
  ): Promise<ObjectList<T>> {
    const limit = options.limit ?? DEFAULT_PAGE_SIZE;
    const items: T[] = [];
    let page: ObjectList<T> | undefined;
    do {
      try {
        page = await this.page<T>(resource, { ...options, limit, continue: page?.continue });
      } catch (error) {
        // The snapshot behind the page token was compacted away: take everything in one answer, as client-go does.
        if (page === undefined || !isKubeError(error, 'gone')) throw error;
        const whole = await this.page<T>(resource, { ...options, limit: undefined });
        return { ...whole, items: whole.items.map(transform) };
      }
      for (const item of page.items) items.push(transform(item));
    } while (page.continue !== undefined);
    return { items, resourceVersion: page.resourceVersion };
  }
}

interface ListBody<T> {
  metadata?: { resourceVersion?: string; continue?: string };
  items?: T[] | null;
}

function readList<T extends KubeObject>(resource: Resource, body: unknown): ObjectList<T> {
  const { metadata, items } = body as ListBody<T>;
  const apiVersion = apiVersionOf(resource);
  for (const item of items ?? []) {
    item.apiVersion ??= apiVersion;
    item.kind ??= resource.kind;
  }
  return {
    items: items ?? [],
    resourceVersion: metadata?.resourceVersion ?? '',
    continue: metadata?.continue || undefined,
  };
}
