import type { Condition } from '../conditions/conditions.ts';
import { eventReasonOr } from '../conditions/event-reasons.ts';
import type { DeploymentFacts, OutcomeEvent, RefusedReport } from '../deployment/cluster-report.ts';
import { deletionNote, withDeletionNote } from '../deployment/deletion-hold.ts';

/** The part of report-outcome.ts for deployments that are being deleted. */

/** Whether the deletion of the deployment was requested and the grace period has ended. */
export function isPurging({ deleting, purgeInMs }: Pick<DeploymentFacts, 'deleting' | 'purgeInMs'>): boolean {
  return deleting && purgeInMs === null;
}

/** Records what blocks a purge. Each new reason causes an event. */
export function whatBlocks(
  { conditions }: Pick<DeploymentFacts, 'conditions'>,
  report: RefusedReport,
  now: Date,
): { conditions: Condition[]; events: OutcomeEvent[] } {
  const reason = eventReasonOr(report.reason, 'ApplyRefused');
  const { message } = report;
  const isNews = reason !== 'BeingDeleted' && deletionNote(conditions)?.reason !== reason;
  const event: OutcomeEvent = {
    revisionId: null,
    reason,
    message: `The deletion is blocked: ${message}`,
    details: {},
  };
  return {
    conditions: withDeletionNote(conditions, { reason, message }, now),
    events: isNews ? [event] : [],
  };
}

/**
 * Adds the record of what blocks the purge to the reported conditions, because it does not come from the custom
 * resource.
 */
export function withFormerNote(
  { conditions }: Pick<DeploymentFacts, 'conditions'>,
  reported: readonly Condition[],
): readonly Condition[] {
  const note = deletionNote(conditions);
  return note === undefined ? reported : [...reported, note];
}
