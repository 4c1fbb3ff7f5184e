import {
  CLAIM_PROTECTION,
  type DeletionHold,
  FOREGROUND,
  finalizerHold,
} from '../../../domain/deployment/deletion-hold.ts';
import { credentialsCopyName, databaseName } from '../../../workloads/names.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import { controllerOf, type KubeObject, type UntypedObject } from '../../kube/client/object.ts';
import { refusedHold } from '../../kube/client/refused-deletion.ts';
import { RESOURCES, resourceOf } from '../../kube/client/resources.ts';
import { childKindOf } from '../kinds.ts';
import type { ChildObject, Observed } from '../observed.ts';

/**
 * What is asked of the API server about a custom resource that does not come to its end although the caches name nothing
 * that blocks it. Reads, and deletions that are only tried (dryRun).
 */

/** The garbage collector mostly needs less for everything. */
export const DEPENDENTS_OVERDUE_MS = 15_000;
/** More of one kind are mostly blocked by the same. */
const MOST_TRIED = 3;

type Client = Pick<KubeClient, 'delete' | 'find' | 'list'>;

/** When that is asked, in ms since the epoch; null: the resource does not wait for what it owns. */
export function readsDueAt({ resource: { metadata } }: Observed): number | null {
  const since = Date.parse(metadata.deletionTimestamp ?? '');
  const waits = metadata.finalizers?.includes(FOREGROUND) === true;
  return !waits || Number.isNaN(since) ? null : since + DEPENDENTS_OVERDUE_MS;
}

/**
 * What blocks the objects that the resource owns.
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
    ...(await Promise.all(untouched.slice(0, MOST_TRIED).map((child) => tried(child, client, signal)))),
    ...(await Promise.all(leaving.map((child) => whyItStays(child, client, signal)))).flat(),
  ];
  return holds.length > 0 ? holds : await ofSecrets(observed, client, signal);
}

/** Why the garbage collector has not deleted an object: whether the API server would let it go. */
async function tried(child: ChildObject, client: Client, signal: AbortSignal): Promise<DeletionHold> {
  const { kind, metadata } = child;
  const { name, namespace = '', uid } = metadata;
  const message = `${kind} ${name} is still there: the garbage collector has not deleted it`;
  const untold: DeletionHold = { reason: 'DependentsLeft', message };
  // The operator may not delete what holds data.
  if (childKindOf(kind)?.removable !== true) return untold;
  try {
    const options = { ...(uid === undefined ? {} : { uid }), dryRun: true, signal };
    await client.delete(resourceOf(child), { namespace, name }, options);
    return untold;
  } catch (error) {
    if (signal.aborted) throw error;
    return refusedHold(error, namespace) ?? untold;
  }
}

async function whyItStays(child: ChildObject, client: Client, signal: AbortSignal): Promise<DeletionHold[]> {
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

/** Names of the pods, whosever they are, that use a claim. */
async function podsThatUse(
  claim: string,
  namespace: string,
  client: Client,
  signal: AbortSignal,
): Promise<string[]> {
  const { items } = await client.list<PodFields>(RESOURCES.Pod, { namespace, signal });
  return items
    .filter(({ status }) => status?.phase !== 'Succeeded' && status?.phase !== 'Failed')
    .filter(({ spec }) => spec?.volumes?.some((volume) => volume.persistentVolumeClaim?.claimName === claim))
    .map(({ metadata }) => metadata.name);
}

/** Secrets are in no cache: those of the database are owned where the resource takes its data with it. */
async function ofSecrets(
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
