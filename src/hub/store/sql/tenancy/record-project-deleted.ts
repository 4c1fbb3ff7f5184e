import { statement } from '../../core/statement.ts';

/** Seconds after which a backend has either processed a message without a response, or will never process it. */
const LATE_SECONDS = 60;

/** Removes the messages of a deleted project. If its creation had no response, the deletion is kept and sent again. */
export const recordProjectDeletedStatement = statement<{ projectId: string; messageId: string }>(
  'record_project_deleted',
  `WITH created AS (
  DELETE FROM outbox WHERE subject_id = :projectId AND kind = 'tracing_project.created'
  RETURNING payload ? 'unanswered' OR (attempts > 0 AND last_error IS NULL) AS unanswered
), again AS (
  UPDATE outbox SET attempts = 0, next_attempt_at = now() + make_interval(secs => ${LATE_SECONDS})
  WHERE id = :messageId AND EXISTS (SELECT 1 FROM created WHERE unanswered) RETURNING id
)
DELETE FROM outbox WHERE id = :messageId AND NOT EXISTS (SELECT 1 FROM created WHERE unanswered)`,
);
