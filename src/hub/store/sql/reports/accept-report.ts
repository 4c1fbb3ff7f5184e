import type { listeners } from '../../core/schema.ts';
import { type Columns, statement } from '../../core/statement.ts';

/** Compare-and-set on (epoch, seq). Returns no row for a report of another epoch, or that was accepted before. */
export const acceptReportStatement = statement<
  { listenerId: string; epoch: number; seq: number },
  Columns<typeof listeners, 'lossRecorded'>
>(
  'accept_report',
  `UPDATE listeners SET report_seq = :seq, last_seen_at = now()
WHERE id = :listenerId
  -- guard: epoch-of-reports
  AND lease_epoch = :epoch
  -- guard: seq-of-reports
  AND report_seq < :seq
RETURNING loss_recorded AS "lossRecorded"`,
);
