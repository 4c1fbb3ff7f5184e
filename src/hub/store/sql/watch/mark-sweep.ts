import { statement } from '../../core/statement.ts';

/** Writes the mark of a sweep, and returns that of the previous one. No row: the process is not announced. */
export const markSweepStatement = statement<{ id: string; mark: string }, { previous: string | null }>(
  'mark_sweep',
  `UPDATE change_watchers w SET mark = :mark::uuid
FROM (SELECT id, mark FROM change_watchers WHERE id = :id::uuid FOR UPDATE) before
WHERE w.id = before.id RETURNING before.mark AS previous`,
);
