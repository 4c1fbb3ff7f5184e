import { buildSteps, isToBuild, supersededBuilds, withBuilds } from '../builds/build-transitions.ts';
import { type Condition, conditionTroubles, isDataReady, reasonOr } from '../conditions/conditions.ts';
import { type EventReason, eventReasonOr } from '../conditions/event-reasons.ts';
import type { ReportedFailure } from '../conditions/failure-source.ts';
import { recoveryMessage, symptomDifference } from '../conditions/symptoms.ts';
import { canonicalJson } from '../core/hash.ts';
import type {
  AppliedReport,
  ClusterReport,
  DeploymentFacts,
  ObservedReport,
  OutcomeEvent,
  OutcomeMove,
  RefusedReport,
  ReportOutcome,
  RevisionRef,
} from '../deployment/cluster-report.ts';
import { isPurging, whatBlocks, withFormerNote } from './deletion-outcome.ts';
import { activeAfter, move, observedSteps, type Step } from './revision-transitions.ts';
import { type DeploymentStatus, deploymentStatus, type RevisionStatus } from './states.ts';

/**
 * Computes the effects of a listener's report on the record. Only this code changes the status of revisions because of
 * the cluster, and sets active_revision_id. Pure and idempotent: a repeated report changes nothing.
 */

const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 60_000;
/**
 * Retry interval after a permanent rejection. A retry can succeed only if the deployment or the rules of the cluster
 * change.
 */
const PERMANENT_REJECTION_MS = 600_000;

function unchanged(facts: DeploymentFacts, ignored: string | null = null): ReportOutcome {
  return { facts, moves: [], events: [], retryAfterMs: null, remove: false, ignored };
}

/** Deployment.status for the history. The reporting listener is connected, even if its return is not in the history yet. */
export function statusOf(facts: DeploymentFacts): DeploymentStatus {
  return deploymentStatus({
    deleting: facts.deleting,
    hasRunnableRevision: facts.hasRunnableRevision,
    watched: facts.listenerLost !== true,
    observed: facts.observation !== null,
    observedOff: facts.observation?.off ?? false,
    dataReady: facts.observation?.dataReady ?? false,
  });
}

/** The reason of a status after an observation. */
function statusReason(
  to: DeploymentStatus,
  { conditions, hasRunnableRevision }: DeploymentFacts,
  moves: readonly OutcomeMove[],
): EventReason {
  const data = (['DatabaseReady', 'CacheReady'] as const).flatMap((wanted) =>
    conditions.filter(({ type }) => type === wanted),
  );
  switch (to) {
    case 'AWAITING_DELETE':
      return 'DeletionRequested';
    case 'UNKNOWN':
      return 'ListenerLost';
    case 'UNUSED':
      if (hasRunnableRevision) return 'SwitchedOff';
      return moves.find((moved) => moved.to === 'BUILD_FAILED')?.reason ?? 'NoRevision';
    case 'AWAITING_DATABASE':
      return eventReasonOr(data.find(({ status }) => status !== 'True')?.reason ?? '', 'DatabaseStarting');
    case 'READY':
      return eventReasonOr(data[0]?.reason ?? '', 'DatabaseAvailable');
  }
}

function statusEvents(
  before: DeploymentFacts,
  after: DeploymentFacts,
  moves: readonly OutcomeMove[],
): OutcomeEvent[] {
  const [from, to] = [statusOf(before), statusOf(after)];
  if (from === to) return [];
  const reason = statusReason(to, after, moves);
  return [
    { revisionId: null, reason, message: `The status changed from ${from} to ${to}.`, details: { from, to } },
  ];
}

/** Whether the applied work item is the current item. The item may have changed since it was handed out. */
const isOfLatestItem = ({ workVersion }: DeploymentFacts, report: AppliedReport) =>
  report.workVersion === undefined || report.workVersion === (workVersion ?? report.workVersion);
const REQUEUED = 'the work item has changed since it was handed out';

/**
 * The deployment is suspended for the grace period of its deletion. The item is not acknowledged, because it is due
 * again as a purge after the grace period.
 */
function suspended(facts: DeploymentFacts, report: AppliedReport): ReportOutcome {
  if (facts.purgeInMs === null || report.generation !== facts.generation) {
    return unchanged(facts, 'deletion was requested');
  }
  if (!isOfLatestItem(facts, report)) return unchanged(facts, REQUEUED);
  return { ...unchanged({ ...facts, attempts: 0 }), retryAfterMs: facts.purgeInMs };
}

function applied(facts: DeploymentFacts, report: AppliedReport): ReportOutcome {
  if (facts.deleting) return suspended(facts, report);
  // A report with a generation that does not exist yet must not acknowledge future changes.
  const latest = isOfLatestItem(facts, report) ? facts.generation : facts.generation - 1;
  const reported = Math.min(
    report.generation,
    // guard: acknowledged-generation-exists
    latest,
  );
  const acknowledgedGeneration = Math.max(facts.acknowledgedGeneration, reported);
  const attempts = acknowledgedGeneration === facts.generation ? 0 : facts.attempts;
  return unchanged({ ...facts, acknowledgedGeneration, attempts });
}

function withReady(facts: DeploymentFacts, report: RefusedReport, now: Date): DeploymentFacts {
  if (isPurging(facts)) {
    return { ...facts, conditions: whatBlocks(facts, report, now).conditions };
  }
  const before = facts.conditions.find(({ type }) => type === 'Ready');
  const refused: Condition = {
    type: 'Ready',
    status: 'False',
    reason: reasonOr(report.reason, 'ApplyRefused'),
    message: report.message,
    lastTransitionTime: before?.status === 'False' ? before.lastTransitionTime : now.toISOString(),
  };
  const others = facts.conditions.filter(({ type }) => type !== 'Ready');
  return { ...facts, conditions: [...others, refused] };
}

/** Whether a revision remains that runs or can run. */
function isRunnable({
  active,
  hasSettledRevision = false,
  hasRunnableRevision,
  revisions,
}: DeploymentFacts): boolean {
  const fails = revisions.some(({ status }) => CANNOT_RUN.includes(status));
  if (!fails) return hasRunnableRevision || active !== null;
  return (
    active !== null || hasSettledRevision || revisions.some(({ status }) => !CANNOT_RUN.includes(status))
  );
}

const CANNOT_RUN: readonly RevisionStatus[] = ['BUILD_FAILED', 'CREATE_FAILED', 'SKIPPED'];

function waiting(facts: DeploymentFacts, report: RefusedReport, now: Date): ReportOutcome {
  if (!isPurging(facts)) return unchanged(facts, 'the deployment is not being deleted');
  const { conditions, events } = whatBlocks(facts, report, now);
  return { ...unchanged({ ...facts, conditions }), events };
}

function refused(facts: DeploymentFacts, report: RefusedReport, now: Date): ReportOutcome {
  if (report.generation !== facts.generation)
    return unchanged(facts, 'the report is about an older generation');
  if (report.waiting === true) return waiting(facts, report, now);
  const backoff = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.max(0, facts.attempts - 1));
  const again = report.retryable ? backoff : PERMANENT_REJECTION_MS;
  const retryAfterMs = Math.min(again, facts.purgeInMs ?? again);
  const reason = eventReasonOr(report.reason, 'ApplyRefused');
  const wanted = facts.revisions.find(({ id }) => id === facts.wantedRevisionId);
  const toBuild = facts.revisions.findLast(isToBuild);
  const failing = report.retryable || facts.deleting ? [] : [wanted, toBuild];
  const moved = move(
    withReady(facts, report, now),
    failing
      .filter((revision) => revision !== undefined)
      .flatMap((revision) => {
        const to = isToBuild(revision) ? 'BUILD_FAILED' : 'DEPLOY_FAILED';
        const failed: Step = { revision, to, reason, message: report.message };
        return revision === toBuild ? [failed, ...supersededBuilds(facts, revision)] : [failed];
      }),
  );
  const needsRequeue = moved.moves.some(endsBuild);
  const after = {
    ...moved.facts,
    // The same item may have been applied before it was rejected, so its acknowledgement is withdrawn.
    acknowledgedGeneration: Math.min(facts.acknowledgedGeneration, facts.generation - 1),
    hasRunnableRevision: isRunnable(moved.facts),
    ...(needsRequeue ? { generation: facts.generation + 1, attempts: 0 } : {}),
  };
  const rejection: OutcomeEvent = {
    revisionId: null,
    reason,
    message: `The cluster rejected generation ${report.generation}: ${report.message}`,
    details: { retryable: report.retryable },
  };
  // One event per generation, not per attempt.
  const events = [...moved.events, ...statusEvents(facts, after, moved.moves)];
  return {
    facts: after,
    moves: moved.moves,
    events: facts.attempts <= 1 ? [rejection, ...events] : events,
    retryAfterMs: needsRequeue ? 0 : retryAfterMs,
    remove: false,
    ignored: null,
  };
}

/** The generation does not exist, because the hub was restored from a backup, or a user changed the number by hand. */
export const GENERATION_AHEAD = 'the report is about a generation that does not exist';

function whyIgnored(facts: DeploymentFacts, report: ObservedReport): string | null {
  if (report.name !== facts.appName || report.namespace !== facts.namespace) {
    return 'the resource has another name or namespace';
  }
  if (report.specGeneration > facts.generation) return GENERATION_AHEAD;
  // guard: observed-generation-grows
  if (report.specGeneration < (facts.observation?.generation ?? 0)) return 'a newer generation is known';
  return null;
}

/** The failed change in place, if the report is about the active revision. */
function inPlaceAfter(active: RevisionRef | null, report: ObservedReport): ReportedFailure | null {
  return active !== null && report.active?.id === active.id ? report.inPlaceFailure : null;
}

function inPlaceEvents(
  { inPlaceFailure: before }: DeploymentFacts,
  { inPlaceFailure: failure, active }: DeploymentFacts,
): OutcomeEvent[] {
  if (failure === null || active === null || canonicalJson(failure) === canonicalJson(before)) return [];
  const { reason, message, failureSource } = failure;
  return [
    {
      revisionId: active.id,
      reason: eventReasonOr(reason, 'RolloutFailed'),
      message: `A change of revision ${active.number} failed: ${message}`,
      details: failureSource === undefined ? {} : { failure_source: failureSource },
    },
  ];
}

/** Events for symptoms of running pods: one event when a symptom begins, and one when its component has recovered. */
function symptomEvents(
  { symptoms: before = [], deleting, switchedOff = false }: DeploymentFacts,
  { symptoms: after = [] }: DeploymentFacts,
  report: ObservedReport,
): OutcomeEvent[] {
  const { started, ended } = symptomDifference(before, after);
  // A rollout replaces the pods and reports its own result. Pods that are switched off or not observed do not prove a
  // recovery.
  const isRunningSeen =
    report.rollout === null &&
    !report.off &&
    !deleting &&
    !switchedOff &&
    !report.conditions.some(({ type, status }) => type === 'Progressing' && status === 'Unknown');
  return [
    ...started.map(({ component, reason, message, failureSource }) => ({
      revisionId: null,
      reason: eventReasonOr(reason, 'ReconcileFailed'),
      message: `Running pods have a problem: ${message}`,
      details: { component, ...(failureSource === undefined ? {} : { failure_source: failureSource }) },
    })),
    ...(isRunningSeen ? ended : []).map((symptom) => ({
      revisionId: null,
      reason: 'Recovered' as const,
      message: `Running pods have recovered: ${recoveryMessage(symptom)}.`,
      details: { component: symptom.component, recovered_from: symptom.reason },
    })),
  ];
}

/** Events for new problems. Failed revisions and symptoms of running pods have separate events. */
function troubleEvents(
  before: DeploymentFacts,
  after: DeploymentFacts,
  report: ObservedReport,
  otherEvents: readonly OutcomeEvent[],
): OutcomeEvent[] {
  const { failed, inPlaceFailure } = report;
  const reported = [
    ...conditionTroubles(before.conditions),
    ...(before.symptoms ?? []),
    ...(after.symptoms ?? []),
  ];
  const failures = [failed, inPlaceFailure].filter((failure) => failure !== null);
  const known = new Set<string>([...reported, ...failures, ...otherEvents].map(({ reason }) => reason));
  return conditionTroubles(after.conditions)
    .filter(({ reason }) => !known.has(reason))
    .map(({ type, status, reason, message }) => ({
      revisionId: null,
      reason: eventReasonOr(reason, 'Refused'),
      message: `${type} is ${status}: ${message}`,
      details: { condition: type },
    }));
}

/** The end of a build changes the desired state of the cluster. */
const endsBuild = ({ built, to }: OutcomeMove) => built !== undefined || to === 'BUILD_FAILED';

function observed(facts: DeploymentFacts, report: ObservedReport, now: Date): ReportOutcome {
  const ignored = whyIgnored(facts, report);
  if (ignored !== null) return unchanged(facts, ignored);
  const moved = move(facts, [...buildSteps(facts, report), ...observedSteps(facts, report)]);
  const needsRequeue = moved.moves.some(endsBuild);
  const active = activeAfter(facts, report);
  const inPlaceFailure = inPlaceAfter(active, report);
  const after: DeploymentFacts = {
    ...moved.facts,
    active,
    inPlaceFailure,
    symptoms: report.symptoms ?? [],
    volumeGi: report.volumeGi ?? null,
    hasRunnableRevision: isRunnable({ ...moved.facts, active }),
    revisions: withBuilds(facts, moved.facts.revisions, report),
    ...(needsRequeue ? { generation: facts.generation + 1, attempts: 0 } : {}),
    conditions: withFormerNote(facts, report.conditions),
    observation: {
      generation: report.specGeneration,
      conditions: [...report.conditions],
      url: report.url,
      domains: report.domains ?? null,
      off: report.off,
      dataReady: isDataReady(report.conditions),
      observedAt: now,
    },
  };
  const ownEvents = [...moved.events, ...inPlaceEvents(facts, after), ...symptomEvents(facts, after, report)];
  const events = [
    ...ownEvents,
    ...troubleEvents(facts, after, report, ownEvents),
    ...statusEvents(facts, after, moved.moves),
  ];
  const retryAfterMs = needsRequeue ? 0 : null;
  return { facts: after, moves: moved.moves, events, retryAfterMs, remove: false, ignored: null };
}

/**
 * The deployment was purged although it is not being deleted, or can still be restored, so it must be applied again.
 */
function purged(facts: DeploymentFacts): ReportOutcome {
  if (facts.deleting && facts.purgeInMs === null) return { ...unchanged(facts), remove: true };
  const acknowledgedGeneration = Math.min(facts.acknowledgedGeneration, facts.generation - 1);
  return { ...unchanged({ ...facts, acknowledgedGeneration, attempts: 0 }), retryAfterMs: 0 };
}

/** Computes the effects of `report` on the record `facts` at the time `now`. */
export function reportOutcome(facts: DeploymentFacts, report: ClusterReport, now: Date): ReportOutcome {
  switch (report.kind) {
    case 'applied':
      return applied(facts, report);
    case 'refused':
      return refused(facts, report, now);
    case 'observed':
      return observed(facts, report, now);
    case 'purged':
      return purged(facts);
  }
}
