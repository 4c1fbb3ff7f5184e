import { type EventReason, eventReasonOr } from '../conditions/event-reasons.ts';
import type { FailureSource } from '../conditions/failure-source.ts';
import type {
  BuiltImage,
  DeploymentFacts,
  ObservedReport,
  OutcomeMove,
  ReportOutcome,
  RevisionFacts,
  RevisionRef,
} from '../deployment/cluster-report.ts';
import { canMove, isTerminalStatus, type RevisionStatus, SEEN_IN_CLUSTER } from './states.ts';

/** Derives transitions of revisions from observations of the cluster. */

/** A requested transition of a revision. */
export interface Step {
  readonly revision: RevisionFacts;
  readonly to: RevisionStatus;
  readonly reason: EventReason;
  readonly message: string;
  /** Source of the failure of the revision, if known. */
  readonly failureSource?: FailureSource | undefined;
  /** Result of the build of the revision. */
  readonly built?: BuiltImage | undefined;
}

/** Executes the first valid step of each revision, with its event. All other steps are omitted. */
export function move(
  facts: DeploymentFacts,
  steps: readonly Step[],
): Pick<ReportOutcome, 'facts' | 'moves' | 'events'> {
  const moves: OutcomeMove[] = steps
    .filter(({ revision, to }, index) => {
      const first = steps.findIndex((step) => step.revision.id === revision.id) === index;
      return first && revision.status !== to && canMove(revision.status, to);
    })
    .map(({ revision: { id, number, status }, to, reason, message, failureSource, built }) => ({
      id,
      number,
      from: status,
      to,
      reason,
      message,
      ...(failureSource === undefined ? {} : { failureSource }),
      ...(built === undefined ? {} : { built }),
    }));
  const byId = new Map(moves.map((moved) => [moved.id, moved.to]));
  return {
    facts: {
      ...facts,
      revisions: facts.revisions.map((revision) => ({
        ...revision,
        status: byId.get(revision.id) ?? revision.status,
        ...(byId.get(revision.id) === 'DEPLOYING' ? { started: true } : {}),
      })),
    },
    moves,
    events: moves.map(({ id, number, from, to, reason, message, failureSource, built }) => ({
      revisionId: id,
      reason,
      message: `Revision ${number} is ${to}: ${message}`,
      details: {
        from: recordedStatus(facts, from),
        to,
        ...(failureSource === undefined ? {} : { failure_source: failureSource }),
        ...(built === undefined
          ? {}
          : { image: built.image, ...(built.commit === undefined ? {} : { commit: built.commit }) }),
      },
    })),
  };
}

/** The status in the history, which may not contain the return of the listener yet. */
const recordedStatus = ({ listenerLost = false }: DeploymentFacts, status: RevisionStatus): RevisionStatus =>
  listenerLost && SEEN_IN_CLUSTER.includes(status) ? 'UNKNOWN' : status;

/** Looks up a revision, because the custom resource may contain any id. */
function known(facts: DeploymentFacts, ref: RevisionRef | null): RevisionFacts | undefined {
  return ref === null ? undefined : facts.revisions.find(({ id }) => id === ref.id);
}

/** Steps for revisions that are older than the newest revision that the operator works on. */
function overtaken(facts: DeploymentFacts, newest: number): Step[] {
  return facts.revisions
    .filter(({ number, status }) => number < newest && !isTerminalStatus(status))
    .map((revision) =>
      revision.status === 'DEPLOYING' || revision.started === true
        ? {
            revision,
            to: 'INTERRUPTED',
            reason: 'Interrupted',
            message:
              revision.status === 'DEPLOYING'
                ? 'a newer revision replaced it during its rollout.'
                : 'a newer revision replaced it after its rollout had started.',
          }
        : {
            revision,
            to: 'SKIPPED',
            reason: 'Superseded',
            message: 'a newer revision replaced it before it started.',
          },
    );
}

/** Steps for the newest revision, if it is neither rolling out nor finished. */
function waiting(facts: DeploymentFacts, report: ObservedReport): Step[] {
  const revision = facts.revisions.find(({ id }) => id === facts.wantedRevisionId);
  if (revision === undefined || report.rollout !== null) return [];
  const { status } = revision;
  // An observed rollout has stopped if no pods run, whichever generation is in effect (a rejected volume delays the
  // generation). A revision without an observed rollout may have been switched on, unless it is known to be off.
  const isStopped = report.off && (status === 'DEPLOYING' || facts.switchedOff === true);
  if (report.specGeneration < facts.generation && !isStopped) return [];
  if (report.off) {
    // A build continues, because it needs no running workloads.
    if (status !== 'AWAITING_DEPLOY' && status !== 'DEPLOYING') return [];
    return [
      {
        revision,
        to: 'QUEUED',
        reason: 'SwitchedOff',
        message: 'it starts when the deployment is switched on.',
      },
    ];
  }
  return status === 'QUEUED'
    ? [
        {
          revision,
          to: 'AWAITING_DEPLOY',
          reason: 'AwaitingDataServices',
          message: 'it is in the cluster and starts when database and cache are ready.',
        },
      ]
    : [];
}

/** All steps from an observation. */
export function observedSteps(facts: DeploymentFacts, report: ObservedReport): Step[] {
  const steps: Step[] = [];
  const active = known(facts, report.active);
  const failed = known(facts, report.failed);
  const rollout = known(facts, report.rollout);
  if (active !== undefined) {
    steps.push({
      revision: active,
      to: 'DEPLOYED',
      reason: 'RolloutComplete',
      message: 'every component runs it.',
    });
  }
  if (failed !== undefined && report.failed !== null) {
    const { reason, message, failureSource } = report.failed;
    steps.push({
      revision: failed,
      to: 'DEPLOY_FAILED',
      reason: eventReasonOr(reason, 'RolloutFailed'),
      message,
      failureSource,
    });
  }
  if (rollout !== undefined && rollout !== active) {
    steps.push({
      revision: rollout,
      to: 'DEPLOYING',
      reason: 'RolloutInProgress',
      message: 'components are being updated.',
    });
  }
  const wanted = facts.revisions.find(({ id }) => id === facts.wantedRevisionId);
  const working = report.specGeneration === facts.generation && wanted !== undefined ? [wanted.number] : [];
  const newest = Math.max(0, ...working, ...steps.map(({ revision }) => revision.number));
  const named = new Set(steps.map(({ revision }) => revision.id));
  return [
    ...steps,
    ...[...overtaken(facts, newest), ...waiting(facts, report)].filter(
      ({ revision }) => !named.has(revision.id),
    ),
  ];
}

/**
 * The active revision after an observation. The number of the active revision only increases, because a rollback
 * creates a new revision.
 */
export function activeAfter(facts: DeploymentFacts, report: ObservedReport): RevisionRef | null {
  const seen = known(facts, report.active);
  if (seen === undefined || seen.number <= (facts.active?.number ?? 0)) return facts.active;
  return { id: seen.id, number: seen.number };
}
