/** Channels of NOTIFY. Log lines have their own channel (build-logs.ts). */

/** New work. The payload is the listener's id. */
export const WORK_CHANNEL = 'berth_work';
/** A credential that may have lost its rights. The payload is the id of the session, token or API key. */
export const ACCESS_CHANNEL = 'berth_access';
/** New messages to the tracing backend. */
export const OUTBOX_CHANNEL = 'berth_outbox';
/** Changes for streams. Triggers of the migrations 0020 and 0021 send them; hub/api/watch/change-hint.ts reads the payload. */
export const CHANGE_CHANNEL = 'berth_changes';
