import type { Reader, Transaction } from '../core/database.ts';
import { eq } from '../core/drizzle.ts';
import { type Actor, actorColumns, appendEvents } from '../core/events.ts';
import { deployments } from '../core/schema.ts';
import { beginVolumeRemovalStatement, type ConfirmedClaim } from '../sql/deployments/begin-volume-removal.ts';
import { endVolumeRemovalStatement } from '../sql/deployments/end-volume-removal.ts';

/**
 * The removal of the volume of a database, after its owner has confirmed it. Until the removal begins, the owner can take the
 * confirmation back. From then on, the listener will delete the claim, so a request that takes the confirmation back fails.
 */

/**
 * Begins the removal. The caller has checked the epoch.
 * @returns whether the listener may delete the claim
 */
export async function beginVolumeRemoval(transaction: Transaction, claim: ConfirmedClaim): Promise<boolean> {
  const begun = await transaction.run(beginVolumeRemovalStatement, claim);
  return begun.length > 0;
}

/**
 * Ends the removal of a claim that no longer exists. The caller has checked the epoch.
 * @returns whether the deployment has a new generation
 */
export async function endVolumeRemoval(transaction: Transaction, claim: ConfirmedClaim): Promise<boolean> {
  const actor: Actor = { kind: 'listener', id: claim.listenerId };
  const [ended] = await transaction.run(endVolumeRemovalStatement, { ...claim, ...actorColumns(actor) });
  if (ended === undefined) return false;
  await appendEvents(transaction, [
    {
      tenantId: ended.tenantId,
      deploymentId: claim.deploymentId,
      actor,
      reason: 'VolumeRemoved',
      message:
        'The volume claim whose removal was confirmed no longer exists. database.remove_volume was reset.',
      details: { generation: ended.generation, claim_uid: claim.claimUid },
    },
  ]);
  return true;
}

/** Whether the removal of the volume has begun. The caller has locked the deployment. */
export async function hasBegunVolumeRemoval({ drizzle }: Reader, deploymentId: string): Promise<boolean> {
  const [row] = await drizzle
    .select({ claim: deployments.removingClaim })
    .from(deployments)
    .where(eq(deployments.id, deploymentId));
  return row?.claim != null;
}
