import type {
  ObjectAnswer,
  ObjectMapResult,
  ObjectRequest,
  ObjectResult,
} from '../../../contract/protocol/object-protocol.ts';
import { LABELS } from '../../../contract/resource/names.ts';
import {
  type ObjectQuery,
  READ_KINDS,
  type ReadKind,
  type UnreadKind,
} from '../../../domain/core/object-map.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import type { KubeObject, UntypedObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import { listForReaders, listPageForReaders } from '../logs/list-for-readers.ts';
import type { ReaderClient } from '../logs/reader-limits.ts';
import { clusterObject, manifestOf, objectEvents, type SeenEvent, secretObjects } from './cluster-object.ts';
import { OPTIONAL_READ_KINDS } from './object-kinds.ts';
import { readUsage } from './read-usage.ts';
import { selectObjects } from './select-objects.ts';

/** Reads the objects of a deployment in the cluster, for one reader. Every list has the label of the deployment. */

/** Timeout of a list. */
const LIST_MS = 5_000;
/** Maximum number of events that are read, of which the newest are shown. An event that occurs again is counted. */
const EVENTS = 500;

export interface ReadingOptions {
  readonly client: Pick<ReaderClient, 'list'>;
  readonly request: ObjectRequest;
  /** Fires to stop the read, or when its time is over. */
  readonly signal: AbortSignal;
}

const selectedBy = ({ request, signal }: ReadingOptions) => ({
  namespace: request.namespace,
  labelSelector: `${LABELS.deploymentId}=${request.deployment_id}`,
  timeoutMs: LIST_MS,
  signal,
});

/** The objects of a kind, or why they could not be read. */
interface KindRead {
  readonly kind: ReadKind;
  readonly objects: readonly KubeObject[];
  readonly hasMore: boolean;
  readonly unread: UnreadKind | null;
}

const NO_TURN = 'Too many reads of this cluster were running. Try again.';

/** Whether a list did not begin, because other lists of readers took all the time. */
const hadNoTurn = (error: unknown, { signal }: ReadingOptions) => signal.aborted && !isKubeError(error);

function unreadOf(kind: string, error: unknown, options: ReadingOptions): UnreadKind {
  if (hadNoTurn(error, options)) return { kind, message: NO_TURN };
  if (isKubeError(error, 'forbidden'))
    return { kind, message: `The listener lacks the right to list objects of this kind. Upgrade its chart.` };
  if (isKubeError(error, 'response_too_large'))
    return { kind, message: 'The objects of this kind are too large to be read.' };
  return { kind, message: 'The cluster did not return the objects in time.' };
}

const isMissingKind = (kind: ReadKind, error: unknown) =>
  OPTIONAL_READ_KINDS.has(kind) && isKubeError(error, 'unknown_resource', 'not_found');

async function readKind(options: ReadingOptions, kind: ReadKind): Promise<KindRead> {
  try {
    const { items, continue: next } = await listForReaders(
      options.client,
      RESOURCES[kind],
      selectedBy(options),
    );
    return { kind, objects: items, hasMore: next !== undefined, unread: null };
  } catch (error) {
    const unread = isMissingKind(kind, error) ? null : unreadOf(kind, error, options);
    return { kind, objects: [], hasMore: false, unread };
  }
}

const USERS: readonly string[] = ['Deployment', 'StatefulSet'] satisfies readonly ReadKind[];

async function readMap(options: ReadingOptions): Promise<ObjectMapResult> {
  // The client of a reader limits how many of these lists are concurrent.
  const [reads, { usage, metrics }] = await Promise.all([
    Promise.all(READ_KINDS.map((kind) => readKind(options, kind))),
    readUsage(options.client, selectedBy(options)),
  ]);
  const users = reads.filter(({ kind }) => USERS.includes(kind)).flatMap(({ objects }) => objects);
  const selected = selectObjects([
    ...reads.map(({ kind, objects, hasMore }) => ({
      kind,
      objects: objects.map((object) => clusterObject(kind, object, usage)),
      hasMore,
    })),
    { kind: 'Secret', objects: secretObjects(users), hasMore: false },
  ]);
  return { ...selected, unread: reads.flatMap(({ unread }) => unread ?? []), metrics };
}

const MORE_EVENTS: UnreadKind = {
  kind: 'Event',
  message: `The object has more than ${EVENTS} events. Some of them were not read.`,
};

async function readEvents(
  options: ReadingOptions,
  kind: ReadKind,
  { name, uid = '' }: KubeObject['metadata'],
): Promise<Pick<ObjectResult, 'events' | 'unread'>> {
  const { labelSelector: _, ...selected } = selectedBy(options);
  try {
    const about = { kind, name, uid };
    const fieldSelector = Object.entries(about)
      .map(([field, value]) => `involvedObject.${field}=${value}`)
      .join();
    const { items, continue: next } = await listPageForReaders<SeenEvent>(options.client, RESOURCES.Event, {
      ...selected,
      fieldSelector,
      limit: EVENTS,
    });
    return { events: objectEvents(items), unread: next === undefined ? [] : [MORE_EVENTS] };
  } catch (error) {
    return { events: [], unread: [unreadOf('Event', error, options)] };
  }
}

type OneObject = Extract<ObjectQuery, { read: 'object' }>;

async function readObject(options: ReadingOptions, { kind, name }: OneObject): Promise<ObjectResult | null> {
  const { items } = await listForReaders<UntypedObject>(options.client, RESOURCES[kind], {
    ...selectedBy(options),
    fieldSelector: `metadata.name=${name}`,
  });
  const [object] = items;
  if (object === undefined) return null;
  const events = await readEvents(options, kind, object.metadata);
  return { object: clusterObject(kind, object), manifest: manifestOf(object), ...events };
}

/** The answer to a request. Never rejects because of the cluster. */
export async function readObjects(options: ReadingOptions): Promise<Omit<ObjectAnswer, 'epoch'>> {
  const { query } = options.request;
  if (query.read === 'map') {
    const map = await readMap(options);
    const isEmpty =
      map.unread.length >= READ_KINDS.length - OPTIONAL_READ_KINDS.size && map.objects.length === 0;
    // Nothing was read, so there is nothing to show.
    if (isEmpty)
      return { failure: map.unread.some(({ message }) => message === NO_TURN) ? 'busy' : 'unavailable' };
    return { map };
  }
  try {
    const object = await readObject(options, query);
    return object === null ? { failure: 'not_found' } : { object };
  } catch (error) {
    if (isKubeError(error, 'unknown_resource', 'not_found')) return { failure: 'not_found' };
    if (hadNoTurn(error, options)) return { failure: 'busy' };
    return { failure: isKubeError(error, 'forbidden') ? 'denied' : 'unavailable' };
  }
}
