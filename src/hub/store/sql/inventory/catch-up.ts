import { MAX_GENERATION } from '../../../../domain/deployment/generation.ts';
import { statement } from '../../core/statement.ts';
import { DROP_CONFIRMATION } from '../fragments/volume-confirmation.ts';
import { ENTRIES, type InventoryParameters, isSamePlace, MARKED_COLUMNS, type Marked } from './entries.ts';

/**
 * For a listener that applied a later generation than the record has, because the hub was restored from a backup. The
 * record now changes the workloads in the cluster, so its generation must be higher. A restored confirmation to remove
 * a volume is dropped, because it may have been carried out or taken back since the backup.
 */
export const catchUpStatement = statement<InventoryParameters, Marked>(
  'catch_up',
  `UPDATE deployments d SET generation = e.generation + 1,
  quota_gpus_generation = d.quota_gpus_generation + e.generation + 1 - d.generation, next_attempt_at = now(), attempts = 0,
  source_config = CASE WHEN d.removing_claim IS NULL THEN ${DROP_CONFIRMATION} ELSE d.source_config END
FROM ${ENTRIES}
WHERE d.listener_id = :listenerId AND ${isSamePlace('d')} AND (d.delete_requested_at IS NULL OR d.purge_after > now())
  AND e.present AND NOT e.edited AND e.generation > d.generation AND e.generation < ${MAX_GENERATION}
RETURNING ${MARKED_COLUMNS}`,
);
