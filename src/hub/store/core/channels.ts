/** Channels of NOTIFY. Log lines have their own channel (build-logs.ts). */

/** New work. The payload is the listener's id. */
export const WORK_CHANNEL = 'berth_work';
/** New messages to the tracing backend. */
export const OUTBOX_CHANNEL = 'berth_outbox';
