import { statement } from '../../core/statement.ts';
import { ENTRIES, type InventoryParameters, isSamePlace } from './entries.ts';

/** Ids of entries that belong to a deployment or tombstone of the listener. */
export const knownEntriesStatement = statement<InventoryParameters, { id: string }>(
  'known_entries',
  `SELECT d.id FROM deployments d JOIN ${ENTRIES} ON ${isSamePlace('d')} WHERE d.listener_id = :listenerId
UNION ALL
SELECT t.id FROM tombstones t JOIN ${ENTRIES} ON ${isSamePlace('t')} WHERE t.listener_id = :listenerId`,
);
