import type { HttpExecutor } from '../transport/http-executor.ts';
import type { ListAllOptions, ObjectList, WatchEvent } from './client-types.ts';
import { KubeError } from './errors.ts';
import { type KubeObject, keyOf } from './object.ts';
import type { Resource } from './resources.ts';
import { ENOUGH, readEvents, withEventStream } from './watch.ts';

/** Without a resourceVersion, the state is as recent as that of a list. */
const WITH_INITIAL_EVENTS = { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' } as const;
/** Annotation of the bookmark that marks the end of the initial objects. */
const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';
/** Time limit for the whole list, independent of its size and speed. */
const LONGEST_S = 600;
const SILENCE_MS = 60_000;

/**
 * A list that the server sends as a watch (WatchList): an event for each existing object, then a bookmark. The list
 * contains the most recent state, like a list without resourceVersion, and always comes from the server's cache. By
 * contrast, the server reads the later pages of a paged list from etcd. Only the results of `transform` are kept in
 * memory.
 * @param onOpen called when the server has begun the response
 * @throws KubeError `invalid` when the server does not support such lists; `network` when the stream ends before the
 * bookmark; `timeout` when no object arrives for `timeoutMs` (other bookmarks do not count); the errors of a watch
 */
export async function streamedList<T extends KubeObject>(
  http: HttpExecutor,
  resource: Resource,
  { transform = (item) => item, ...options }: ListAllOptions<T>,
  onOpen: () => void,
): Promise<ObjectList<T>> {
  const { timeoutMs = SILENCE_MS } = options;
  const items = new Map<string, T>();
  let resourceVersion = '';
  const onEvent = ({ type, object }: WatchEvent<T>): unknown => {
    if (type === 'BOOKMARK') {
      if (object.metadata.annotations?.[INITIAL_EVENTS_END] !== 'true') return undefined;
      resourceVersion = object.metadata.resourceVersion ?? '';
      return ENOUGH;
    }
    const key = keyOf(object);
    // The object was deleted while other objects were sent.
    if (type === 'DELETED') items.delete(key);
    else items.set(key, transform(object));
    return undefined;
  };
  const stream = { ...options, timeoutSeconds: LONGEST_S };
  await withEventStream('list', resource, stream, WITH_INITIAL_EVENTS, (call, ending) =>
    http.read({ ...call, timeoutMs }, ending, async (body) => {
      onOpen();
      const { action } = call;
      const reading = { action, idleTimeoutMs: timeoutMs, ending, onEvent, needsObjects: true };
      if (await readEvents<T>(body, reading)) return;
      const message = `failed to ${action}: the stream ended before the list was complete`;
      throw new KubeError({ kind: 'network', message });
    }),
  );
  return { items: [...items.values()], resourceVersion };
}
