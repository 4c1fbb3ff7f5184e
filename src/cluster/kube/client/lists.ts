import type { HttpExecutor } from '../transport/http-executor.ts';
import type { ListAllOptions, ListOptions, ObjectList } from './client-types.ts';
import { isKubeError } from './errors.ts';
import { ListStrategy } from './list-strategy.ts';
import type { KubeObject } from './object.ts';
import { apiVersionOf, type Resource, resourcePath } from './resources.ts';
import { streamedList } from './streamed-list.ts';

const DEFAULT_PAGE_SIZE = 200;
const GATEWAY_TIMEOUT = 504;

/** Lists objects: one page, or everything, as a stream or page by page. */
export class Lists {
  readonly #http: HttpExecutor;
  readonly #strategy = new ListStrategy();

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
      maxBytes: options.maxBytes,
      timeoutMs: options.timeoutMs,
      signal: options.signal,
    });
    return readList<T>(resource, body);
  }

  async all<T extends KubeObject>(
    resource: Resource,
    { streamed = false, ...options }: ListAllOptions<T>,
  ): Promise<ObjectList<T>> {
    if (!streamed) return await this.#pages<T>(resource, options);
    const { namespace = '', labelSelector = '', fieldSelector = '' } = options;
    const key = [resource.group, resource.plural, namespace, labelSelector, fieldSelector].join(' ');
    const list = this.#strategy.mayStream(key) ? await this.#stream<T>(resource, options, key) : undefined;
    if (list !== undefined) return list;
    const paged = await this.#pages<T>(resource, options);
    this.#strategy.paged(key);
    return paged;
  }

  /** undefined: the server does not support streamed lists. */
  async #stream<T extends KubeObject>(
    resource: Resource,
    options: ListAllOptions<T>,
    key: string,
  ): Promise<ObjectList<T> | undefined> {
    let isOpen = false;
    try {
      const list = await streamedList<T>(this.#http, resource, options, () => {
        isOpen = true;
      });
      this.#strategy.streamed(key);
      return list;
    } catch (error) {
      if (!isOpen && isKubeError(error, 'invalid', 'bad_request')) {
        this.#strategy.refused();
        return undefined;
      }
      if (!isKubeError(error, 'aborted') && (isOpen || isLate(error))) this.#strategy.interrupted(key);
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
        // The snapshot of the page token was compacted. The whole list is requested in one response, as in client-go.
        if (page === undefined || !isKubeError(error, 'gone')) throw error;
        const whole = await this.page<T>(resource, { ...options, limit: undefined });
        return { ...whole, items: whole.items.map(transform) };
      }
      for (const item of page.items) items.push(transform(item));
    } while (page.continue !== undefined);
    return { items, resourceVersion: page.resourceVersion };
  }
}

/**
 * The response did not begin, or the server's cache is not recent enough for a stream. Paged lists do not depend on the
 * cache of the server.
 */
function isLate(error: unknown): boolean {
  return isKubeError(error, 'timeout') || (isKubeError(error) && error.status === GATEWAY_TIMEOUT);
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
