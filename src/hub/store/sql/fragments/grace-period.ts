/**
 * SQL: whether the deletion can be cancelled, or changed to keep the workloads. The condition uses the clock instead of
 * the start of the transaction, because the purge may be handed out while the transaction waits for the row.
 */
export const WITHIN_GRACE = 'delete_requested_at IS NOT NULL AND purge_after > clock_timestamp()';
