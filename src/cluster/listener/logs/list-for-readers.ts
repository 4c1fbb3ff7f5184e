import type { KubeClient, ListOptions, ObjectList } from '../../kube/client/client.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import type { KubeObject } from '../../kube/client/object.ts';
import { RESOURCES, type Resource } from '../../kube/client/resources.ts';

/** Lists objects for readers of logs and objects. */

/** Maximum size of a list. A pod has 5 to 15 KiB. */
const MAX_LIST_BYTES = 4 * 1024 * 1024;
/** Number of objects that are read of a larger list. */
const PAGE = 200;
/** Pods that have ended and were not removed yet can be thousands, for example after evictions. */
const LIVING_PODS = 'status.phase!=Succeeded,status.phase!=Failed';

/** What a list selects. */
export interface Selected extends Pick<ListOptions, 'labelSelector' | 'fieldSelector' | 'timeoutMs'> {
  readonly namespace: string;
  readonly signal: AbortSignal;
}

/**
 * Lists the most recent state. What readers see is shown beside the status, and must never be older than what the status says.
 * With `resourceVersion: '0'`, an API server that has lost etcd would return a former state as the current one. Without
 * `resourceVersion`, an API server of Kubernetes 1.31 or later answers from its watch cache, after this cache has reached
 * the state of etcd. It does so only without `limit`: with a limit, versions before 1.34 read and decode the objects of the whole
 * namespace in etcd, whatever the labels select. So the size of the response is limited instead of the number of objects.
 * @throws KubeError `response_too_large`
 */
const listMostRecent = <T extends KubeObject>(
  client: Pick<KubeClient, 'list'>,
  resource: Resource,
  selected: Selected,
): Promise<ObjectList<T>> => client.list<T>(resource, { ...selected, maxBytes: MAX_LIST_BYTES });

/**
 * The selected objects. If they are too large together: only the first ones, with `continue`, and without pods that have ended.
 * @throws KubeError
 */
export async function listForReaders<T extends KubeObject>(
  client: Pick<KubeClient, 'list'>,
  resource: Resource,
  selected: Selected,
): Promise<ObjectList<T>> {
  try {
    return await listMostRecent<T>(client, resource, selected);
  } catch (error) {
    if (!isKubeError(error, 'response_too_large')) throw error;
    const living = resource === RESOURCES.Pod ? { fieldSelector: LIVING_PODS } : {};
    const page = await listPageForReaders<T>(client, resource, { ...living, ...selected, limit: PAGE });
    return { ...page, continue: page.continue ?? '' };
  }
}

/** All selected objects. If they are too large together, they are read in pages. @throws KubeError */
export async function listAllForReaders<T extends KubeObject>(
  client: Pick<KubeClient, 'list' | 'listAll'>,
  resource: Resource,
  selected: Selected,
  transform: (object: T) => T,
): Promise<T[]> {
  try {
    return (await listMostRecent<T>(client, resource, selected)).items;
  } catch (error) {
    if (!isKubeError(error, 'response_too_large')) throw error;
    return (await client.listAll<T>(resource, { ...selected, transform })).items;
  }
}

/** At most `limit` of the selected objects. For kinds that API servers do not cache. @throws KubeError */
export const listPageForReaders = <T extends KubeObject>(
  client: Pick<KubeClient, 'list'>,
  resource: Resource,
  selected: Selected & { readonly limit: number },
): Promise<ObjectList<T>> => client.list<T>(resource, { ...selected, maxBytes: MAX_LIST_BYTES });
