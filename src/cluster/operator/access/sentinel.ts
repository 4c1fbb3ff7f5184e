import type { ManagedDeployment } from '../../../contract/resource/managed-deployment.ts';
import { FIELD_MANAGERS } from '../../../contract/resource/names.ts';
import { type NamedSecret, secretSentinel } from '../../../workloads/objects/secret-sentinel.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import type { KubeObject, UntypedObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import { subsetDiff } from '../../kube/compare/compare.ts';
import type { Execution } from '../act/execute.ts';
import { isOurs } from '../observe/ownership.ts';

/**
 * Ensures a sentinel for these Secrets, all of which this reconcile read or created. The function creates the sentinel,
 * or restores the labels and owners of an existing sentinel. A sentinel without labels is not in the cache and reports
 * nothing.
 * @returns the written sentinel; undefined: the sentinel is complete and the watch is behind
 * @throws KubeError already_exists, conflict or not_found when the object of this name has changed, or is not a
 * sentinel
 */
export async function ensureSentinel(
  secrets: readonly NamedSecret[],
  { client, resource, view, signal }: Pick<Execution, 'client' | 'resource' | 'view' | 'signal'>,
): Promise<KubeObject | undefined> {
  const wanted = secretSentinel(resource, secrets);
  const options = { fieldManager: FIELD_MANAGERS.operator, signal };
  const noted = (written: KubeObject): KubeObject => {
    view.noteWrite(written);
    return written;
  };
  try {
    return noted(await client.create<KubeObject>(wanted, options));
  } catch (error) {
    if (!isKubeError(error, 'already_exists')) throw error;
    const kind = RESOURCES.ControllerRevision;
    const found = await client.find<UntypedObject>(kind, wanted.metadata, { signal });
    if (found === undefined || !mayBeSentinel(found, wanted, resource)) throw error;
    const metadata = restorePatch(found, wanted);
    if (metadata === undefined) return undefined;
    return noted(await client.patch<UntypedObject>(kind, wanted.metadata, { metadata }, options));
  }
}

/**
 * Whether the object of this name is the sentinel, possibly edited. The name is derived from the uids of the Secrets.
 * The sentinel is owned by one of the Secrets, or still has Berth's labels.
 */
function mayBeSentinel(found: KubeObject, wanted: KubeObject, resource: ManagedDeployment): boolean {
  if (found.metadata.deletionTimestamp !== undefined) return false;
  return isOurs(found, resource) || ownersOf(found).some(({ uid }) => isOwnedBy(wanted, uid));
}

/**
 * The patch that restores removed labels and owners; undefined: nothing was removed. Labels and owners that others set
 * are kept. If the garbage collector had removed an owner, it removes the owner again, and the operator receives that
 * event.
 */
function restorePatch(found: KubeObject, wanted: KubeObject): object | undefined {
  const { labels, ownerReferences } = wanted.metadata;
  if (subsetDiff({ metadata: { labels, ownerReferences } }, found).length === 0) return undefined;
  const { uid, resourceVersion } = found.metadata;
  const others = ownersOf(found).filter((owner) => !isOwnedBy(wanted, owner.uid));
  return { uid, resourceVersion, labels, ownerReferences: [...ownersOf(wanted), ...others] };
}

const ownersOf = ({ metadata: { ownerReferences = [] } }: KubeObject) => ownerReferences;

const isOwnedBy = (object: KubeObject, uid: string) => ownersOf(object).some((owner) => owner.uid === uid);
