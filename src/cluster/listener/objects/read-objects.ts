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
import type { KubeClient } from '../../kube/client/client.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import type { KubeObject, UntypedObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import {
  clusterObject,
  fitting,
  manifestOf,
  objectEvents,
  type SeenEvent,
  secretObjects,
} from './cluster-object.ts';
import { OPTIONAL_READ_KINDS } from './object-kinds.ts';
import { readUsage } from './read-usage.ts';

/** Reads the objects of a deployment in the cluster, for one reader. Every list has the label of the deployment. */

/** Maximum number of objects of a kind. */
const PAGE = 500;
/** Timeout of a list. All lists of a map together take at most three times as long. */
const LIST_MS = 5_000;
/** Number of concurrent lists of one reader. */
const AT_ONCE = 5;

export interface ReadingOptions {
  readonly client: Pick<KubeClient, 'list'>;
  readonly request: ObjectRequest;
  /** Fires to stop the read. */
  readonly signal: AbortSignal;
}

/** What a list selects. */
export interface Selected {
  readonly namespace: string;
  readonly labelSelector: string;
  readonly limit: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

const selectedBy = ({ request, signal }: ReadingOptions): Selected => ({
  namespace: request.namespace,
  labelSelector: `${LABELS.deploymentId}=${request.deployment_id}`,
  limit: PAGE,
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

function unreadOf(kind: string, error: unknown): UnreadKind {
  if (isKubeError(error, 'forbidden'))
    return { kind, message: `The listener lacks the right to list objects of this kind. Upgrade its chart.` };
  return { kind, message: 'The cluster did not return the objects in time.' };
}

const isMissingKind = (kind: ReadKind, error: unknown) =>
  OPTIONAL_READ_KINDS.has(kind) && isKubeError(error, 'unknown_resource', 'not_found');

async function readKind(options: ReadingOptions, kind: ReadKind): Promise<KindRead> {
  try {
    const { items, continue: next } = await options.client.list(RESOURCES[kind], selectedBy(options));
    return { kind, objects: items, hasMore: next !== undefined, unread: null };
  } catch (error) {
    const unread = isMissingKind(kind, error) ? null : unreadOf(kind, error);
    return { kind, objects: [], hasMore: false, unread };
  }
}

async function readKinds(options: ReadingOptions): Promise<KindRead[]> {
  const reads: KindRead[] = [];
  for (let from = 0; from < READ_KINDS.length; from += AT_ONCE) {
    const kinds = READ_KINDS.slice(from, from + AT_ONCE);
    reads.push(...(await Promise.all(kinds.map((kind) => readKind(options, kind)))));
  }
  return reads;
}

const USERS: readonly string[] = ['Deployment', 'StatefulSet'] satisfies readonly ReadKind[];

async function readMap(options: ReadingOptions): Promise<ObjectMapResult> {
  const [reads, { usage, metrics }] = await Promise.all([
    readKinds(options),
    readUsage(options.client, selectedBy(options)),
  ]);
  const objects = reads.flatMap(({ kind, objects: found }) =>
    found.map((object) => clusterObject(kind, object, usage)),
  );
  const users = reads.filter(({ kind }) => USERS.includes(kind)).flatMap(({ objects: found }) => found);
  const all = fitting([...objects, ...secretObjects(users)]);
  return {
    objects: all.objects,
    truncated: all.truncated || reads.some(({ hasMore }) => hasMore),
    unread: reads.flatMap(({ unread }) => unread ?? []),
    metrics,
  };
}

async function readEvents(
  options: ReadingOptions,
  uid: string,
): Promise<Pick<ObjectResult, 'events' | 'unread'>> {
  const { labelSelector: _, ...selected } = selectedBy(options);
  try {
    const fieldSelector = `involvedObject.uid=${uid}`;
    const { items } = await options.client.list<SeenEvent>(RESOURCES.Event, { ...selected, fieldSelector });
    return { events: objectEvents(items), unread: [] };
  } catch (error) {
    return { events: [], unread: [unreadOf('Event', error)] };
  }
}

type OneObject = Extract<ObjectQuery, { read: 'object' }>;

async function readObject(options: ReadingOptions, { kind, name }: OneObject): Promise<ObjectResult | null> {
  const { items } = await options.client.list<UntypedObject>(RESOURCES[kind], {
    ...selectedBy(options),
    fieldSelector: `metadata.name=${name}`,
  });
  const [object] = items;
  if (object === undefined) return null;
  const events = await readEvents(options, object.metadata.uid ?? '');
  return { object: clusterObject(kind, object), manifest: manifestOf(object), ...events };
}

/** The answer to a request. Never rejects because of the cluster. */
export async function readObjects(options: ReadingOptions): Promise<Omit<ObjectAnswer, 'epoch'>> {
  const { query } = options.request;
  if (query.read === 'map') {
    const map = await readMap(options);
    // Nothing was read, so there is nothing to show.
    return map.unread.length >= READ_KINDS.length - OPTIONAL_READ_KINDS.size && map.objects.length === 0
      ? { failure: 'unavailable' }
      : { map };
  }
  try {
    const object = await readObject(options, query);
    return object === null ? { failure: 'not_found' } : { object };
  } catch (error) {
    if (isKubeError(error, 'unknown_resource', 'not_found')) return { failure: 'not_found' };
    return { failure: isKubeError(error, 'forbidden') ? 'denied' : 'unavailable' };
  }
}
