import { ANNOTATIONS, LABELS } from '../../../contract/resource/names.ts';
import { confirmsRemoval, NO_CLAIM, notedClaim } from '../../../contract/resource/volume-confirmation.ts';
import { databaseName } from '../../../workloads/names.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { KubeObject, ObjectName } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import { type Resource, recordGenerationOf } from '../resource-view.ts';

/** Finds the claim of a database, and notes it when its owner confirms the removal. */

/** The claim of the database, which may belong to another deployment. undefined: the deployment has no such claim. */
export async function databaseClaim(
  { namespace, name }: ObjectName,
  deploymentId: string,
  client: Pick<KubeClient, 'listAll'>,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  const labelSelector = `${LABELS.deploymentId}=${deploymentId}`;
  const options = { ...(namespace === undefined ? {} : { namespace }), labelSelector, signal };
  const { items } = await client.listAll<KubeObject>(RESOURCES.PersistentVolumeClaim, options);
  return items.find((item) => item.metadata.name === databaseName({ metadata: { name } }));
}

/** The next spec. */
interface NextSpec extends Pick<Resource, 'spec'> {
  /** The claim whose removal has begun, as the hub knows it. */
  readonly begunClaim?: string | undefined;
}

/**
 * Whether a later spec than the next one was applied, which may have carried the confirmation out. This happens after the
 * hub was restored from a backup.
 */
function isOutdated(live: Resource, { spec }: NextSpec): boolean {
  const generation = recordGenerationOf(live);
  return typeof generation === 'number' && generation > (spec.recordGeneration ?? 0);
}

/**
 * The claim to which the confirmation of the next spec applies. undefined: the spec confirms nothing. The claim that was noted
 * for an earlier spec stays noted until a spec confirms nothing. For a custom resource that is created, or whose note was
 * lost, nothing shows whether the present claim is the confirmed one. So the confirmation then applies to no claim, unless
 * its removal has begun.
 */
async function claimToNote(
  live: Resource | undefined,
  next: NextSpec,
  findClaim: () => Promise<KubeObject | undefined>,
): Promise<string | undefined> {
  if (!confirmsRemoval(next.spec)) return undefined;
  if (next.begunClaim !== undefined) return next.begunClaim;
  if (live === undefined || isOutdated(live, next)) return NO_CLAIM;
  const noted = notedClaim(live);
  if (noted !== undefined) return noted;
  if (confirmsRemoval(live.spec)) return NO_CLAIM;
  return (await findClaim())?.metadata.uid ?? NO_CLAIM;
}

/** The annotations of the next spec that note this claim. */
export async function confirmationNote(
  live: Resource | undefined,
  next: NextSpec,
  findClaim: () => Promise<KubeObject | undefined>,
): Promise<Record<string, string>> {
  const claim = await claimToNote(live, next, findClaim);
  return claim === undefined ? {} : { [ANNOTATIONS.claimToRemove]: claim };
}
