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
 * Has a witness for these Secrets, all of which were seen or made by this look: a new one, or the one that is there, with
 * what somebody took off it put back. One whose labels are gone is out of sight, and tells of no Secret that goes.
 * @returns what was written; undefined: it is there and whole, the watch is merely behind
 * @throws KubeError already_exists, conflict or not_found: what has its name is not what it was, or nothing to be a witness
 */
export async function ensureWitness(
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
    if (found === undefined || !mayBeWitness(found, wanted, resource)) throw error;
    const metadata = takenOff(found, wanted);
    if (metadata === undefined) return undefined;
    return noted(await client.patch<UntypedObject>(kind, wanted.metadata, { metadata }, options));
  }
}

/**
 * Whether what has the name of the witness is it, or was until somebody edited it. The name is of the Secrets' uids; one of
 * them owns it, or it has our labels still.
 */
function mayBeWitness(found: KubeObject, wanted: KubeObject, resource: ManagedDeployment): boolean {
  if (found.metadata.deletionTimestamp !== undefined) return false;
  return isOurs(found, resource) || ownersOf(found).some(({ uid }) => isOwnedBy(wanted, uid));
}

/**
 * What puts back what was taken off the witness; undefined: nothing was. Others' labels and owners stay. An owner that the
 * garbage collector took off goes again, and that is seen.
 */
function takenOff(found: KubeObject, wanted: KubeObject): object | undefined {
  const { labels, ownerReferences } = wanted.metadata;
  if (subsetDiff({ metadata: { labels, ownerReferences } }, found).length === 0) return undefined;
  const { uid, resourceVersion } = found.metadata;
  const others = ownersOf(found).filter((owner) => !isOwnedBy(wanted, owner.uid));
  return { uid, resourceVersion, labels, ownerReferences: [...ownersOf(wanted), ...others] };
}

const ownersOf = ({ metadata: { ownerReferences = [] } }: KubeObject) => ownerReferences;

const isOwnedBy = (object: KubeObject, uid: string) => ownersOf(object).some((owner) => owner.uid === uid);
