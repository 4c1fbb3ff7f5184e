import { statement } from '../../core/statement.ts';
import { CONFIRMS_REMOVAL } from '../fragments/volume-confirmation.ts';

/** A claim whose removal a spec of this generation confirms. */
export interface ConfirmedClaim {
  listenerId: string;
  deploymentId: string;
  generation: number;
  claimUid: string;
}

/**
 * Records that the removal of a claim begins, if the latest desired state still confirms it. A removal that has begun
 * stays confirmed in each later generation. No row: the removal is not permitted.
 */
export const beginVolumeRemovalStatement = statement<ConfirmedClaim, { id: string }>(
  'begin_volume_removal',
  `UPDATE deployments d SET removing_claim = :claimUid
WHERE d.id = :deploymentId AND d.listener_id = :listenerId AND d.delete_requested_at IS NULL AND ${CONFIRMS_REMOVAL}
  AND (d.removing_claim = :claimUid OR (d.removing_claim IS NULL AND d.generation = :generation))
RETURNING d.id`,
);
