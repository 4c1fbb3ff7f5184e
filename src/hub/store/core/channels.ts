/** Channels of NOTIFY. Log lines have their own channel (build-logs.ts). */

/** New work. The payload is the listener's id. */
export const WORK_CHANNEL = 'berth_work';
/** New messages to the tracing backend. */
export const OUTBOX_CHANNEL = 'berth_outbox';
/** Changes for streams. Triggers of migration 0019 send them; hub/api/watch/change-hint.ts reads the payload. */
export const CHANGE_CHANNEL = 'berth_changes';
