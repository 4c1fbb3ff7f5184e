import { OUTBOX_CHANNEL } from '../../core/channels.ts';
import { statement } from '../../core/statement.ts';

/** Marks all projects as unknown to the tracing backend. */
export const resyncProjectsStatement = statement<Record<never, never>, { count: number }>(
  'resync_projects',
  `WITH known AS (
  UPDATE tracing_projects SET backend_synced_at = NULL WHERE backend_synced_at IS NOT NULL RETURNING id
), hint AS (SELECT pg_notify('${OUTBOX_CHANNEL}', ''))
SELECT (SELECT count(*)::int FROM known) AS count FROM hint`,
);
