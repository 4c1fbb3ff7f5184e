/** Seconds after which an item without a report is handed out again. `next_attempt_at` is set to this time. */
export const REDELIVER_SECONDS = 60;
