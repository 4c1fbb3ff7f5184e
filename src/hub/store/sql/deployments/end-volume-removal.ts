import { deployments } from '../../core/schema.ts';
import { type Columns, columns, statement } from '../../core/statement.ts';
import { authorSql } from '../fragments/generation-author.ts';
import { CONFIRMS_REMOVAL, DROP_CONFIRMATION } from '../fragments/volume-confirmation.ts';
import type { ConfirmedClaim } from './begin-volume-removal.ts';

/**
 * Removes the confirmation from the record, because its claim no longer exists. So it cannot apply to a later claim, not even
 * after a restore of the cluster or the hub. The size of the volume stays until the next report, because another claim may
 * exist. No row: the record has no such confirmation.
 */
export const endVolumeRemovalStatement = statement<
  ConfirmedClaim & { actorKind: string; actorId: string | null; actorName: string | null },
  Columns<typeof deployments, 'tenantId' | 'generation'>
>(
  'end_volume_removal',
  `UPDATE deployments d SET removing_claim = NULL, source_config = ${DROP_CONFIRMATION},
  generation = generation + 1, quota_gpus_generation = quota_gpus_generation + 1,
  next_attempt_at = now(), attempts = 0, updated_at = now(), updated_by = ${authorSql('generation + 1')}
WHERE d.id = :deploymentId AND d.listener_id = :listenerId AND d.delete_requested_at IS NULL AND ${CONFIRMS_REMOVAL}
  AND (d.removing_claim = :claimUid OR (d.removing_claim IS NULL AND d.generation = :generation))
RETURNING ${columns(deployments, 'd', ['tenantId', 'generation'])}`,
);
