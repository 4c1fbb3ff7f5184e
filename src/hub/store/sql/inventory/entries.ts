import { deployments } from '../../core/schema.ts';
import { type Columns, columns } from '../../core/statement.ts';

/** SQL that the statements of inventories share. Aliases: `d` deployments, `t` tombstones, `e` entries. */

/** One custom resource of an inventory. */
export interface ListedResource {
  readonly id: string;
  readonly name: string;
  readonly namespace: string;
  /** false: the resource was deleted. */
  readonly present: boolean;
  readonly generation: number;
  readonly specHash: string;
  /** Whether the last writer was a client other than a listener. */
  readonly edited: boolean;
}

export interface InventoryParameters {
  listenerId: string;
  /** JSON of ListedResource[]. */
  entries: string;
}

/** The entries. The statement must have InventoryParameters. */
export const ENTRIES = `jsonb_to_recordset(:entries::jsonb) AS e(id uuid, name text, namespace text, present boolean,
  generation bigint, "specHash" text, edited boolean)`;

/** Whether an entry is the custom resource of a deployment or tombstone. */
export const isSamePlace = (alias: 'd' | 't') =>
  `${alias}.id = e.id AND ${alias}.app_name = e.name AND ${alias}.namespace = e.namespace`;

/** The condition `c` with status Unknown, because the custom resource is missing. @param message a literal of the code */
export const asUnknown = (message: string) =>
  `c || jsonb_build_object('status', 'Unknown', 'reason', 'Reconciling', 'message', '${message}',
    'lastTransitionTime', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))`;

export const MARKED_COLUMNS = columns(deployments, 'd', ['id', 'tenantId']);
export type Marked = Columns<typeof deployments, 'id' | 'tenantId'>;

/** The status before and after. `o` is the row before. */
const STATUS_COLUMNS = `${MARKED_COLUMNS}, o.recorded_status AS "fromStatus", d.recorded_status AS "toStatus"`;
type Status = Columns<typeof deployments, 'recordedStatus'>['recordedStatus'];
export interface StatusMarked extends Marked {
  readonly fromStatus: Status;
  readonly toStatus: Status;
}

/** Updates deployments whose resources the entries report as deleted. @param which condition of the deployments */
export const updateDeleted = (assignments: string, which: string) =>
  `UPDATE deployments d SET ${assignments}
FROM ${ENTRIES}, deployments o
WHERE o.id = d.id AND d.listener_id = :listenerId AND ${isSamePlace('d')} AND ${which} AND NOT e.present
RETURNING ${STATUS_COLUMNS}`;

/** Parameters of a complete inventory. */
export interface CompleteParameters extends InventoryParameters {
  /** The namespaces that the inventory covers completely; null: the whole cluster. */
  namespaces: readonly string[] | null;
}

/** Updates deployments whose resources are not in a complete inventory. @param which condition of the deployments */
export const updateMissing = (assignments: string, which: string) =>
  `UPDATE deployments d SET ${assignments}
FROM deployments o
WHERE o.id = d.id AND d.listener_id = :listenerId AND ${which}
  AND (:namespaces::text[] IS NULL OR d.namespace = ANY(:namespaces))
  AND NOT EXISTS (SELECT 1 FROM ${ENTRIES} WHERE ${isSamePlace('d')} AND e.present)
RETURNING ${STATUS_COLUMNS}`;
