import {
  CLAIM_PROTECTION,
  type DeletionHold,
  FOREGROUND,
  finalizerHold,
} from '../../../domain/deployment/deletion-hold.ts';
import { credentialsCopyName, databaseName } from '../../../workloads/names.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import { controllerOf, hasEnded, type KubeObject, type UntypedObject } from '../../kube/client/object.ts';
import { refusedHold } from '../../kube/client/refused-deletion.ts';
import { RESOURCES, resourceOf } from '../../kube/client/resources.ts';
import { childKindOf } from '../kinds.ts';
import type { ChildObject, Observed } from '../observed.ts';

/**
 * Live checks for a custom resource whose deletion does not complete although the caches show no cause. The checks are
 * reads and dry-run deletions.
 */

/** Time before the first check. The garbage collector mostly needs less time for all objects. */
export const DEPENDENTS_OVERDUE_MS = 15_000;
/** Maximum number of checked objects. Further objects are mostly blocked for the same reason. */
const MAX_DRY_RUNS = 3;

type Client = Pick<KubeClient, 'delete' | 'find' | 'list'>;

/**
 * Time of the reads that check the deletion, in ms since the epoch; null: the resource does not wait for owned objects.
 */
export function readsDueAt({ resource: { metadata } }: Observed): number | null {
  const since = Date.parse(metadata.deletionTimestamp ?? '');
  const waits = metadata.finalizers?.includes(FOREGROUND) === true;
  return !waits || Number.isNaN(since) ? null : since + DEPENDENTS_OVERDUE_MS;
}

/**
 * What blocks the deletion of the owned objects.
 * @throws KubeError when the signal fires
 */
export async function readHolds(
  observed: Observed,
  client: Client,
  signal: AbortSignal,
): Promise<DeletionHold[]> {
  const { resource, children, leavingRevisions = [] } = observed;
  const owned = [...children.values(), ...leavingRevisions].filter(
    (child) => controllerOf(child)?.uid === resource.metadata.uid,
  );
  const untouched = owned.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const leaving = owned.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  const holds = [
    ...(await Promise.all(
      untouched.slice(0, MAX_DRY_RUNS).map((child) => dryRunDeletion(child, client, signal)),
    )),
    ...(await Promise.all(leaving.map((child) => terminatingHolds(child, client, signal)))).flat(),
  ];
  return holds.length > 0 ? holds : await secretHolds(observed, client, signal);
}

/**
 * Why the garbage collector has not deleted an object. A dry-run deletion shows whether the API server rejects it.
 */
async function dryRunDeletion(
  child: ChildObject,
  client: Client,
  signal: AbortSignal,
): Promise<DeletionHold> {
  const { kind, metadata } = child;
  const { name, namespace = '', uid } = metadata;
  const message = `${kind} ${name} still exists: the garbage collector has not deleted it`;
  const unknown: DeletionHold = { reason: 'DependentsLeft', message };
  // The operator has no right to delete objects that hold data.
  if (childKindOf(kind)?.removable !== true) return unknown;
  try {
    const options = { ...(uid === undefined ? {} : { uid }), dryRun: true, signal };
    await client.delete(resourceOf(child), { namespace, name }, options);
    return unknown;
  } catch (error) {
    if (signal.aborted) throw error;
    return refusedHold(error, namespace) ?? unknown;
  }
}

async function terminatingHolds(
  child: ChildObject,
  client: Client,
  signal: AbortSignal,
): Promise<DeletionHold[]> {
  const { kind, metadata } = child;
  const { name, namespace = '', finalizers = [] } = metadata;
  if (finalizers.includes(CLAIM_PROTECTION)) {
    const users = await podsThatUse(name, namespace, client, signal);
    return users.map((pod) => ({
      reason: 'VolumeInUse',
      message: `${kind} ${name} is being deleted and is used by Pod ${pod}`,
    }));
  }
  if (!finalizers.includes(FOREGROUND)) return [];
  const message = `${kind} ${name} is being deleted and waits for objects that it owns`;
  return [{ reason: 'DependentsLeft', message }];
}

interface PodFields extends UntypedObject {
  spec?: { volumes?: { persistentVolumeClaim?: { claimName: string } }[] };
  status?: { phase?: string };
}

/** Names of all pods of the namespace that use a claim. */
async function podsThatUse(
  claim: string,
  namespace: string,
  client: Client,
  signal: AbortSignal,
): Promise<string[]> {
  const { items } = await client.list<PodFields>(RESOURCES.Pod, { namespace, signal });
  return items
    .filter((pod) => !hasEnded(pod))
    .filter(({ spec }) => spec?.volumes?.some((volume) => volume.persistentVolumeClaim?.claimName === claim))
    .map(({ metadata }) => metadata.name);
}

/**
 * Finalizers of the database's Secrets, which are not cached. A resource that is deleted together with its data owns
 * these Secrets.
 */
async function secretHolds(
  { resource }: Observed,
  client: Client,
  signal: AbortSignal,
): Promise<DeletionHold[]> {
  const { namespace } = resource.metadata;
  const names = [databaseName(resource), credentialsCopyName(resource)];
  const found = await Promise.all(
    names.map((name) =>
      client.find<KubeObject>(RESOURCES.Secret, { namespace, name }, { signal }).catch((error) => {
        if (signal.aborted || !isKubeError(error)) throw error;
        return undefined;
      }),
    ),
  );
  return found.flatMap((secret) => {
    const isOwned = secret?.metadata.ownerReferences?.some(({ uid }) => uid === resource.metadata.uid);
    return secret === undefined || isOwned !== true
      ? []
      : (finalizerHold({ ...secret, kind: RESOURCES.Secret.kind }) ?? []);
  });
}
