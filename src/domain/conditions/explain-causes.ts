import { deletionMessage } from '../deployment/deletion.ts';
import { deletionNote, isHoldReason, objectOfHold } from '../deployment/deletion-hold.ts';
import { isTerminal } from '../revision/states.ts';
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
import { culpritCause, inPlaceCause, symptomCauses } from './explain-failure-source.ts';
import { listenerCause } from './explain-listener.ts';
import { remedyOf } from './remedies.ts';

/** The chain of causes of explain.ts: from the revision's state down to the smallest thing that is known. */

function revisionCause({ revision, listener, deployment }: ExplainFacts): Cause {
  const { number, status, reason, message, updatedAt } = revision;
  const [words, fallback] = STATUS_WORDS[status];
  const name = `Revision ${number} ${words}`;
  if (status === 'UNKNOWN') {
    // What is stored of it speaks of the time before.
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

/** The newer revision that stands in the way of this one. */
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

/** From the general to the particular. */
const SPECIFIC = [
  'Ready',
  'Paused',
  'RouteReady',
  'Serving',
  'Progressing',
  'ImageReady',
  'CacheReady',
  'DatabaseReady',
];

/** That something was rolled back says less than why, whichever condition tells it. */
function particularity({ type, reason }: Condition): number {
  return reason === 'RolledBack' ? -1 : SPECIFIC.indexOf(type);
}

function isRelevant({ status, reason, type }: Condition): boolean {
  const remedy = remedyOf(reason);
  if (remedy === null) return status !== 'True' && type !== 'Progressing';
  return remedy.kind === 'act' || remedy.kind === 'wait';
}

/** A refusal is the hub's own note, not what the operator saw: it speaks of no generation of the custom resource. */
const isRefusal = ({ type, observedGeneration }: Condition) =>
  type === 'Ready' && observedGeneration === undefined;

/** Of a revision that serves while a newer one is wanted: the other conditions speak of the newer one. */
const OF_THE_ACTIVE = new Set(['Serving', 'DatabaseReady', 'CacheReady', 'Paused', 'RouteReady']);

const isWanted = ({ revision, deployment }: ExplainFacts) => revision.id === deployment.latestRevisionId;

/** The cluster has what is wanted. It may have been seen with an item that is made anew, or was refused, after that. */
const isBrought = ({ deployment: { generation, acknowledgedGeneration, observation } }: ExplainFacts) =>
  acknowledgedGeneration >= generation || observation?.generation === generation;

/** All that a build is held by: its image's own condition, of the newest one alone, a pause, or a refusal of the item. */
const holdsBuild =
  (facts: ExplainFacts) =>
  (condition: Condition): boolean =>
    condition.type === 'Paused' ||
    (condition.type === 'ImageReady' && isWanted(facts)) ||
    isRefusal(condition);

/** Conditions that say why it is not further, the most particular one of each reason. */
function conditionCauses(
  facts: ExplainFacts,
  current: boolean,
  concerns: (condition: Condition) => boolean = () => true,
): Cause[] {
  const { conditions, updatedAt } = facts.deployment;
  const isActive = facts.active?.id === facts.revision.id;
  const told = conditions
    .filter(concerns)
    // Until the listener has brought the generation to the cluster, the others speak of what was wanted before.
    .filter((condition) => isActive || isBrought(facts) || isRefusal(condition))
    // Serving speaks of the active revision, SwitchedOff is told of the whole deployment.
    .filter(({ type, reason }) => (isActive || type !== 'Serving') && reason !== 'SwitchedOff')
    .filter(({ type }) => !isActive || isWanted(facts) || OF_THE_ACTIVE.has(type))
    .filter(isRelevant)
    .toSorted((a, b) => particularity(a) - particularity(b));
  return told
    .filter(({ reason }, index) => told.findLastIndex((other) => other.reason === reason) === index)
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

/** Its deletion was requested, and the grace is over: it is being removed from its cluster. */
function isPurging({ now, deployment: { deleteRequestedAt, purgeAfter } }: DeletionFacts): boolean {
  return deleteRequestedAt !== null && (purgeAfter === null || purgeAfter <= now);
}

/** What blocks the removal. */
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
    ? 'deletion was requested and cannot be cancelled any more; it is removed when no object of it remains in the cluster'
    : deletionMessage(at.toISOString(), purgeAfter.toISOString());
  const message = `The deployment is being deleted: ${said}.`;
  return [link({ level: 'deployment', reason: 'DeletionRequested', message, at })];
}

function offCause({ deployment }: ExplainFacts): Cause[] {
  if (!deployment.switchedOff) return [];
  const message = 'source_config.resource_spec.max_scale is 0, so no pods run. The data is kept.';
  return [link({ level: 'deployment', reason: 'SwitchedOff', message, at: deployment.updatedAt })];
}

/** What is wanted and what the cluster was seen with. */
function generationCause(facts: ExplainFacts): Cause[] {
  const { deployment, active, revision } = facts;
  // What else is wanted is told of the newer revision.
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

/** Until this is fixed, no other change reaches the cluster, so it comes last, as the root. */
function workBlockedCause({ deployment: { workBlocked = null, updatedAt: at } }: ExplainFacts): Cause[] {
  if (workBlocked === null) return [];
  const { reason, message } = workBlocked;
  return [
    link({ level: 'deployment', reason, message: `It cannot be sent to the listener: ${message}`, at }),
  ];
}

/** One that is not observed was being built where its stored reason says so. */
const isToBuild = ({ revision: { status, reason } }: ExplainFacts) =>
  status === 'AWAITING_BUILD' || status === 'BUILDING' || (status === 'UNKNOWN' && reason === 'Building');

/** Why one that is under way, or that serves, is where it is. */
function liveCauses(facts: ExplainFacts): Cause[] {
  const { revision } = facts;
  // What was wanted and seen before the removal says nothing of it.
  if (isPurging(facts)) {
    const unobserved = listenerCause(facts);
    return [...deletionCause(facts), ...unobserved, ...holdCause(facts, unobserved.length === 0)];
  }
  const overtaken =
    !isTerminal(revision.status) && !isWanted(facts) ? successorCause(facts, 'Superseded') : [];
  const listener = listenerCause(facts);
  // It is built in the cluster of its deployment, but waits for nothing of what runs there.
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
    ...conditionCauses(facts, listener.length === 0),
    ...inPlaceCause(facts, listener.length === 0),
    ...symptomCauses(facts, listener.length === 0),
    ...culpritCause(facts),
    ...workBlockedCause(facts),
  ];
}

/** The chain: the first says where the revision is, each that follows is nearer to the cause. */
export function causesOf(facts: ExplainFacts): Cause[] {
  const { revision, active } = facts;
  const first = revisionCause(facts);
  switch (revision.status) {
    case 'CREATE_FAILED':
    case 'BUILD_FAILED':
    case 'DEPLOY_FAILED':
      return [first, ...culpritCause(facts)];
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
