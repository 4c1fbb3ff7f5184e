import type { HttpExecutor } from '../transport/http-executor.ts';
import type { ListAllOptions, ObjectList, WatchEvent } from './client-types.ts';
import { KubeError } from './errors.ts';
import { type KubeObject, keyOf } from './object.ts';
import type { Resource } from './resources.ts';
import { ENOUGH, readEvents, withEventStream } from './watch.ts';

/** Without a resourceVersion: as recent as a list would be. */
const WITH_INITIAL_EVENTS = { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' } as const;
/** The bookmark that says that what was there has come carries it. */
const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';
/** However much comes, and however slowly. */
const LONGEST_S = 600;
const SILENCE_MS = 60_000;

/**
 * A list as a watch sends it that begins with what is there (WatchList): an event for each object, then a bookmark. It is
 * the most recent state, as of a list without resourceVersion, and always out of the server's own cache: pages after the
 * first one are read from etcd of whatever has not changed for some minutes. Nothing is held but what `transform` gives.
 * @param onOpen the server has begun with it
 * @throws KubeError `invalid` by a server that has no such lists; `network` when it ends before that bookmark, `timeout`
 *   when no object comes for `timeoutMs` (bookmarks of other kinds count as silence); those of a watch
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
    // One that is deleted went while the others came.
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
      const message = `failed to ${action}: the stream ended before all of it had come`;
      throw new KubeError({ kind: 'network', message });
    }),
  );
  return { items: [...items.values()], resourceVersion };
}
