import { deletionMessage } from '../deployment/deletion.ts';
import { deletionNote, isHoldReason, objectOfHold } from '../deployment/deletion-hold.ts';
import { isTerminalStatus } from '../revision/states.ts';
import type { Condition, Reason } from './conditions.ts';
import {
  type Cause,
  type CauseObject,
  type ExplainFacts,
  isCurrent,
  link,
  type RevisionName,
  STATUS_WORDS,
  timeOf,
} from './explain-facts.ts';
import { failureSourceCause, inPlaceCause, symptomCauses } from './explain-failure-source.ts';
import { listenerCause } from './explain-listener.ts';
import { remedyOf } from './remedies.ts';

/** The chain of causes of explain.ts, from the state of the revision to the most specific known cause. */

function revisionCause({ revision, listener, deployment }: ExplainFacts): Cause {
  const { number, status, reason, message, updatedAt } = revision;
  const [words, fallback] = STATUS_WORDS[status];
  const name = `Revision ${number} ${words}`;
  if (status === 'UNKNOWN') {
    // The listener does not observe the revision, so its stored reason describes an earlier state.
    const unobserved =
      listener.status === 'CLUSTER_UNREACHABLE'
        ? 'ClusterUnreachable'
        : listener.status === 'CONNECTED' && deployment.unwatched === 'unseen'
          ? 'NamespaceNotAllowed'
          : fallback;
    const at = listener.lastSeenAt ?? deployment.updatedAt;
    return link({ level: 'revision', reason: unobserved, message: `${name} now.`, at });
  }
  const text = message === null ? `${name}.` : `${name}: ${message}`;
  return link({ level: 'revision', reason: reason ?? fallback, message: text, at: updatedAt });
}

const nameOf = ({ id, number }: RevisionName): CauseObject => ({
  kind: 'Revision',
  object: String(number),
  id,
});

/** The newer revision that replaced this revision. */
function successorCause({ successor }: ExplainFacts, reason: Reason): Cause[] {
  if (successor === null) return [];
  const { number, status, createdAt } = successor;
  const message = `Revision ${number} is newer and replaced it. Revision ${number} is ${status}.`;
  return [link({ level: 'object', object: nameOf(successor), reason, message, at: createdAt })];
}

function overtakenCause({ active, revision }: ExplainFacts): Cause[] {
  if (active === null) return [];
  const message = `Revision ${active.number} is now active instead of revision ${revision.number}.`;
  return [
    link({
      level: 'object',
      object: nameOf(active),
      reason: 'Superseded',
      message,
      at: active.createdAt,
    }),
  ];
}

/** Condition types from general to specific. */
const SPECIFIC = [
  'Ready',
  'Paused',
  'SchedulesHealthy',
  'DomainsReady',
  'RouteReady',
  'Serving',
  'Progressing',
  'ImageReady',
  'CacheReady',
  'DatabaseReady',
];

/** Specificity of a condition, for the order of causes. A rollback is less specific than its cause. */
function particularity({ type, reason }: Condition): number {
  return reason === 'RolledBack' ? -1 : SPECIFIC.indexOf(type);
}

function isRelevant({ status, reason, type }: Condition): boolean {
  const remedy = remedyOf(reason);
  if (remedy === null) return status !== 'True' && type !== 'Progressing';
  return remedy.kind === 'act' || remedy.kind === 'wait';
}

/**
 * Whether the hub itself recorded the rejection of a work item. A condition for a rejected work item has no generation
 * of the custom resource.
 */
const isRefusal = ({ type, observedGeneration }: Condition) =>
  type === 'Ready' && observedGeneration === undefined;

/**
 * Types of conditions about the active revision while a newer revision is desired. All other conditions are about the
 * newer revision.
 */
const OF_THE_ACTIVE = new Set([
  'Serving',
  'DatabaseReady',
  'CacheReady',
  'Paused',
  'RouteReady',
  'DomainsReady',
  'SchedulesHealthy',
]);

const isWanted = ({ revision, deployment }: ExplainFacts) => revision.id === deployment.latestRevisionId;

/**
 * Whether the cluster has the desired generation. The work item may have changed, or been rejected, after the cluster
 * received it.
 */
const isBrought = ({ deployment: { generation, acknowledgedGeneration, observation } }: ExplainFacts) =>
  acknowledgedGeneration >= generation || observation?.generation === generation;

/** Conditions that can block a build: ImageReady (only of the newest revision), a pause, or a rejected work item. */
const holdsBuild =
  (facts: ExplainFacts) =>
  (condition: Condition): boolean =>
    condition.type === 'Paused' ||
    (condition.type === 'ImageReady' && isWanted(facts)) ||
    isRefusal(condition);

/**
 * Conditions that explain why the revision does not progress. For each reason, only the most specific condition is
 * included.
 */
function conditionCauses(
  facts: ExplainFacts,
  current: boolean,
  concerns: (condition: Condition) => boolean = () => true,
): Cause[] {
  const { conditions, updatedAt } = facts.deployment;
  const isActive = facts.active?.id === facts.revision.id;
  const relevant = conditions
    .filter(concerns)
    // Until the listener has applied the generation, other conditions describe the previous desired state.
    .filter((condition) => isActive || isBrought(facts) || isRefusal(condition))
    // Serving is about the active revision. SwitchedOff is reported for the whole deployment.
    .filter(({ type, reason }) => (isActive || type !== 'Serving') && reason !== 'SwitchedOff')
    .filter(({ type }) => !isActive || isWanted(facts) || OF_THE_ACTIVE.has(type))
    .filter(isRelevant)
    .toSorted((a, b) => particularity(a) - particularity(b));
  return relevant
    .filter(({ reason }, index) => relevant.findLastIndex((other) => other.reason === reason) === index)
    .map(({ type, reason, message, status, lastTransitionTime }) =>
      link({
        level: 'condition',
        condition: type,
        object: isHoldReason(reason) ? objectOfHold(message) : null,
        reason,
        message: `${type} is ${status}: ${message}`,
        at: timeOf(lastTransitionTime, updatedAt),
        current,
      }),
    );
}

type DeletionFacts = Pick<ExplainFacts, 'now'> & {
  readonly deployment: Pick<ExplainFacts['deployment'], 'deleteRequestedAt' | 'purgeAfter'>;
};

/** Whether the deletion of the deployment was requested and the grace period has ended. */
function isPurging({ now, deployment: { deleteRequestedAt, purgeAfter } }: DeletionFacts): boolean {
  return deleteRequestedAt !== null && (purgeAfter === null || purgeAfter <= now);
}

/** The cause that blocks the deletion. */
function holdCause({ deployment: { conditions, updatedAt } }: ExplainFacts, current: boolean): Cause[] {
  const note = deletionNote(conditions);
  if (note === undefined) return [];
  const { reason, message, lastTransitionTime } = note;
  const at = timeOf(lastTransitionTime, updatedAt);
  const object = isHoldReason(reason) ? objectOfHold(message) : null;
  return [link({ level: 'object', object, reason, message: `The deletion waits: ${message}`, at, current })];
}

function deletionCause({ now, deployment: { deleteRequestedAt: at, purgeAfter } }: ExplainFacts): Cause[] {
  if (at === null) return [];
  const isOver = purgeAfter === null || isPurging({ now, deployment: { deleteRequestedAt: at, purgeAfter } });
  const said = isOver
    ? 'deletion was requested and can no longer be cancelled; the deployment is removed when none of its objects ' +
      'remains in the cluster'
    : deletionMessage(at.toISOString(), purgeAfter.toISOString());
  const message = `The deployment is being deleted: ${said}.`;
  return [link({ level: 'deployment', reason: 'DeletionRequested', message, at })];
}

const PENDING_REMOVAL =
  'The removal of the volume of the database is confirmed. It waits until the deployment is switched on again, if its last ' +
  'pods used the database.';

function offCause({ deployment }: ExplainFacts): Cause[] {
  if (!deployment.switchedOff) return [];
  const removal = deployment.removesVolume === true ? ` ${PENDING_REMOVAL}` : '';
  const message = `source_config.resource_spec.max_scale is 0, so no pods run. The data is kept.${removal}`;
  return [link({ level: 'deployment', reason: 'SwitchedOff', message, at: deployment.updatedAt })];
}

const DISABLED: ReadonlySet<string> = new Set<Reason>(['DatabaseDisabled', 'CacheDisabled']);

/** The data services that are switched off, with the volume that is kept. */
function disabledCauses({ deployment: { conditions, updatedAt } }: ExplainFacts, current: boolean): Cause[] {
  return conditions
    .filter(({ status, reason }) => status === 'True' && DISABLED.has(reason))
    .map(({ type: condition, reason, message, lastTransitionTime }) =>
      link({
        level: 'condition',
        condition,
        reason,
        message: `${condition} is True: ${message}.`,
        at: timeOf(lastTransitionTime, updatedAt),
        current,
      }),
    );
}

/** The cause that states the difference between the desired and the observed generation. */
function generationCause(facts: ExplainFacts): Cause[] {
  const { deployment, active, revision } = facts;
  // The explanation of the newer revision contains the desired state.
  if (active?.id === revision.id && !isWanted(facts)) return [];
  const { generation, observation, updatedAt: at } = deployment;
  const seen = observation === null ? 'without it' : `with generation ${observation.generation}`;
  if (!isBrought(facts)) {
    const message = `Generation ${generation} is desired, but the listener has not applied it to the cluster yet.`;
    return [link({ level: 'deployment', reason: 'Reconciling', message, at })];
  }
  if (observation?.generation === generation) return [];
  const message = `Generation ${generation} is desired, but the cluster was last observed ${seen}.`;
  const current = isCurrent(facts);
  return [link({ level: 'deployment', reason: 'Reconciling', message, at, current })];
}

/** Until this problem is fixed, no other change reaches the cluster, so it comes last, as the root cause. */
function workBlockedCause({ deployment: { workBlocked = null, updatedAt: at } }: ExplainFacts): Cause[] {
  if (workBlocked === null) return [];
  const { reason, message } = workBlocked;
  return [
    link({
      level: 'deployment',
      reason,
      message: `The deployment cannot be sent to the listener: ${message}`,
      at,
    }),
  ];
}

/** Whether the revision is not built yet. For a revision that is not observed, the stored reason shows this. */
const isToBuild = ({ revision: { status, reason } }: ExplainFacts) =>
  status === 'AWAITING_BUILD' || status === 'BUILDING' || (status === 'UNKNOWN' && reason === 'Building');

/** Causes for a revision that is in progress or active. */
function liveCauses(facts: ExplainFacts): Cause[] {
  const { revision } = facts;
  // States from before the deletion do not explain the deletion.
  if (isPurging(facts)) {
    const unobserved = listenerCause(facts);
    return [...deletionCause(facts), ...unobserved, ...holdCause(facts, unobserved.length === 0)];
  }
  const overtaken =
    !isTerminalStatus(revision.status) && !isWanted(facts) ? successorCause(facts, 'Superseded') : [];
  const listener = listenerCause(facts);
  // A build runs in the cluster of its deployment, but does not depend on the workloads there.
  if (isToBuild(facts)) {
    const held = conditionCauses(facts, listener.length === 0, holdsBuild(facts));
    return [...deletionCause(facts), ...overtaken, ...listener, ...held, ...workBlockedCause(facts)];
  }
  return [
    ...deletionCause(facts),
    ...offCause(facts),
    ...overtaken,
    ...listener,
    ...generationCause(facts),
    ...disabledCauses(facts, listener.length === 0),
    ...conditionCauses(facts, listener.length === 0),
    ...inPlaceCause(facts, listener.length === 0),
    ...symptomCauses(facts, listener.length === 0),
    ...failureSourceCause(facts),
    ...workBlockedCause(facts),
  ];
}

/** The chain of causes. The first cause is the state of the revision. Each following cause is more specific. */
export function causesOf(facts: ExplainFacts): Cause[] {
  const { revision, active } = facts;
  const first = revisionCause(facts);
  switch (revision.status) {
    case 'CREATE_FAILED':
    case 'BUILD_FAILED':
    case 'DEPLOY_FAILED':
      return [first, ...failureSourceCause(facts)];
    case 'SKIPPED':
      return [first, ...successorCause(facts, 'Superseded')];
    case 'INTERRUPTED':
      return [first, ...successorCause(facts, 'Interrupted')];
    case 'DEPLOYED':
      return [first, ...(active?.id === revision.id ? liveCauses(facts) : overtakenCause(facts))];
    default:
      return [first, ...liveCauses(facts)];
  }
}
