import type { ListAllOptions, ObjectList, WatchEvent } from './client-types.ts';
import { isKubeError, KubeError } from './errors.ts';
import type { HttpExecutor } from './http-executor.ts';
import { type KubeObject, keyOf } from './object.ts';
import type { Resource } from './resources.ts';
import { openWatch } from './watch.ts';

/** The bookmark that says that what was there has come carries it. */
const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';
/** However much comes, and however slowly. */
const LONGEST_S = 600;
const SILENCE_MS = 60_000;

/**
 * A list as a watch sends it that begins with what is there (WatchList): an event for each object, then a bookmark. It is
 * the most recent state, as of a list without resourceVersion, and always out of the server's own cache: pages after the
 * first one are read from etcd of whatever has not changed for some minutes. Nothing is held but what `transform` gives.
 * @throws KubeError `invalid` by a server that has no such lists; `network` when it ends before the bookmark; those of a watch
 */
export async function streamedList<T extends KubeObject>(
  http: HttpExecutor,
  resource: Resource,
  { transform = (item) => item, ...options }: ListAllOptions<T>,
): Promise<ObjectList<T>> {
  const { namespace, labelSelector, fieldSelector, signal, timeoutMs = SILENCE_MS } = options;
  const items = new Map<string, T>();
  const enough = new AbortController();
  let resourceVersion: string | undefined;
  const onEvent = ({ type, object }: WatchEvent<T>): void => {
    const { metadata } = object;
    if (type === 'BOOKMARK') {
      if (metadata.annotations?.[INITIAL_EVENTS_END] !== 'true') return;
      resourceVersion = metadata.resourceVersion ?? '';
      enough.abort();
    } else if (type === 'DELETED') {
      // Went while the others came.
      items.delete(keyOf(object));
    } else {
      const key = keyOf(object);
      items.set(key, transform(object));
    }
  };
  try {
    await openWatch<T>(
      http,
      resource,
      {
        namespace,
        labelSelector,
        fieldSelector,
        initialEvents: true,
        timeoutSeconds: LONGEST_S,
        idleTimeoutMs: timeoutMs,
        signal: signal === undefined ? enough.signal : AbortSignal.any([signal, enough.signal]),
      },
      onEvent,
    );
  } catch (error) {
    const isOver = isKubeError(error, 'aborted') && resourceVersion !== undefined;
    if (!isOver) throw error;
  }
  if (resourceVersion === undefined) {
    const message = `failed to list ${resource.plural}: the stream ended before all of it had come`;
    throw new KubeError({ kind: 'network', message });
  }
  return { items: [...items.values()], resourceVersion };
}
