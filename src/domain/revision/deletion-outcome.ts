import type { Condition } from '../conditions/conditions.ts';
import type { DeploymentFacts, OutcomeEvent, RefusedReport } from '../deployment/cluster-report.ts';
import { deletionNote, withDeletionNote } from '../deployment/deletion-hold.ts';
import { reasonOr } from './revision-transitions.ts';

/** The part of report-outcome.ts that is about deployments which are being removed. */

/** Its deletion was requested, and the grace is over. */
export function isPurging({ deleting, purgeInMs }: Pick<DeploymentFacts, 'deleting' | 'purgeInMs'>): boolean {
  return deleting && purgeInMs === null;
}

/** What a purge waits for is noted; the history has an event for each new reason. */
export function whatBlocks(
  { conditions }: Pick<DeploymentFacts, 'conditions'>,
  report: RefusedReport,
  now: Date,
): { conditions: Condition[]; events: OutcomeEvent[] } {
  const reason = reasonOr(report.reason, 'ApplyRefused');
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

/** Reported conditions, with the note of what blocks the purge: that is known from elsewhere than the custom resource. */
export function withFormerNote(
  { conditions }: Pick<DeploymentFacts, 'conditions'>,
  reported: readonly Condition[],
): readonly Condition[] {
  const note = deletionNote(conditions);
  return note === undefined ? reported : [...reported, note];
}
