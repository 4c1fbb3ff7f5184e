import { reasonOr } from '../../../domain/conditions/conditions.ts';
import { deletionMessage } from '../../../domain/deployment/deletion.ts';
import { combinedHold } from '../../../domain/deployment/deletion-hold.ts';
import { cacheName, databaseName } from '../../../workloads/names.ts';
import { safeChanges } from '../act/learn-responses.ts';
import type { Decision } from '../decide/decide.ts';
import { refusedResize, sizeToRequest, volumeRefusal } from '../decide/plan-volume.ts';
import { cacheState, databaseState, volumeState } from '../observe/data-services.ts';
import type { Observed } from '../observed.ts';
import { awaitedSecrets } from '../rollout/secret-markers.ts';
import { awaitedBy, awaitsServices, failedBefore, releaseOf } from '../rollout/target.ts';
import { type Finding, no, yes } from './conditions.ts';
import { volumeLoss } from './deleted-services.ts';
import { componentPodHold, stuckPods, wantedHold } from './deletion-holds.ts';
import type { Facts } from './facts.ts';
import { buildFinding, buildTrouble, noImage } from './image-findings.ts';
import { ofWhatServes, releaseMessage, releaseReason, revisionName } from './rollout-findings.ts';
import { cacheReady, databaseReady, growing, serviceNotReady } from './service-findings.ts';
import { isDataService, lackOfServices } from './service-trouble.ts';

type Check = (facts: Facts) => Finding | null | undefined | false;

const pendingWork = ({ plan }: Decision) => plan.actions.length + plan.waiting.length;

/** An image that is built but not rolled out is not Ready, and the hub must receive this state. */
function notBuilt({ status, reason, message }: Finding): Finding {
  return status === 'True'
    ? no('Reconciling', `${message}; its rollout is about to begin`)
    : no(reason, message);
}

/** Whether nothing is to run, and the cluster matches this state. */
export function isAtRest({ observed, decision, failures }: Facts): boolean {
  return (
    observed.resource.spec.build === undefined &&
    pendingWork(decision) + failures.length === 0 &&
    decision.verdict.kind === 'idle'
  );
}

/** Reasons for Ready, in order. The first reason that applies is reported. */
const READY_CHECKS: readonly Check[] = [
  function deletionRequested({ observed, paused, off, now }) {
    const { deletion } = observed.resource.spec;
    if (deletion === undefined) return false;
    const asked = deletionMessage(deletion.requestTime, deletion.restorableUntilTime);
    const hold = off ? undefined : combinedHold(stuckPods(observed.pods, now));
    const message = hold === undefined ? asked : `${asked}; a pod does not stop: ${hold.message}`;
    return no(
      'DeletionRequested',
      paused ? `${message}; paused: running pods are not stopped before the pause ends` : message,
    );
  },
  function pausedBeforeDone({ paused, decision }) {
    return paused && pendingWork(decision) > 0 && no('Paused', `paused: ${describePending(decision)}`);
  },
  function dataAtRisk(facts) {
    const finding = databaseReady(facts);
    if (finding?.reason === 'VolumeBeingDeleted') return finding;
    const loss = volumeLoss(facts.observed);
    return loss !== null && no('VolumeLost', loss);
  },
  function refused({ observed, failures }) {
    const ofVolume = volumeRefusal(observed, failures);
    const failure = failures.find((candidate) => candidate !== ofVolume);
    return failure !== undefined && no(failure.reason, failure.message);
  },
  function wantedObjectHeld({ observed, decision, now }) {
    const hold = wantedHold(observed, decision.comparisons, now);
    return (
      hold !== undefined && no(hold.reason, `${hold.message}; Berth creates it again after the deletion`)
    );
  },
  function databasePodStuck({ observed, now }) {
    const hold = databaseState(observed).ready ? undefined : componentPodHold(observed, 'database', now);
    return hold !== undefined && no(hold.reason, `the database waits: ${hold.message}`);
  },
  function switchedOff(facts) {
    const { observed, off, failures } = facts;
    if (!observed.resource.spec.suspend) return false;
    // A deployment whose first build has failed is suspended, because no revision can run.
    const trouble = buildTrouble(observed);
    if (off && trouble !== null) return no(trouble.reason, `${trouble.message}; no pods run`);
    if (off && isAtRest(facts)) return yes('SwitchedOff', 'switched off: no pods run, the data is kept');
    const message = off ? 'switched off: no pods run, the data is kept' : 'is being switched off';
    const refusal = volumeRefusal(observed, failures);
    const more =
      refusal === undefined ? '' : `; of the database, ${refusedResize(observed)}: ${refusal.message}`;
    return no('SwitchedOff', `${message}${more}`);
  },
  function databaseNotReady(facts) {
    const finding = databaseReady(facts);
    // The database is ready. `volumeRefused` below reports the problem of the volume.
    if (finding?.reason === 'VolumeNotExpandable') return false;
    return serviceNotReady(facts.observed, 'database', finding);
  },
  function cacheNotReady(facts) {
    return serviceNotReady(facts.observed, 'cache', cacheReady(facts));
  },
  function runningPodsInTrouble({ decision: { symptoms } }) {
    // Earlier checks cover database and cache.
    const [first, ...others] = symptoms.current.filter(({ component }) => !isDataService(component));
    if (first === undefined) return false;
    const more = others.map(({ message }) => `; also ${message}`).join('');
    return no(first.reason, `${first.message}${more}`);
  },
  function imageMissing(facts) {
    const { observed, decision } = facts;
    if (observed.resource.spec.revision.image !== undefined) return false;
    const building = buildFinding(observed);
    if (building !== null) return notBuilt(building);
    const { reason, message } = noImage(observed);
    if (decision.target.kind !== 'no-revision' || buildTrouble(observed) !== null) return no(reason, message);
    return isAtRest(facts) ? yes('NoRevision', message) : no('NoRevision', message);
  },
  function failed({ decision: { verdict, target } }) {
    if (verdict.kind !== 'failed') return false;
    return no(verdict.reason, `${verdict.message}${ofWhatServes(target)}`);
  },
  function releasePending({ observed, decision: { target } }) {
    const release = awaitsServices(target) ? null : releaseOf(target);
    return release !== null && no(releaseReason(release), releaseMessage(observed, release));
  },
  function newServiceAwaited({ observed, decision: { target } }) {
    const awaits = awaitedBy(target);
    if (awaits === null) return false;
    const { reason, message } = lackOfServices(observed, awaits.services);
    return no(reason ?? 'AwaitingDataServices', `revision ${awaits.number} waits: ${message}`);
  },
  function componentsInTrouble({ decision: { verdict } }) {
    const trouble = verdict.kind === 'progressing' ? verdict.trouble : undefined;
    if (!trouble) return false;
    const { reason, message } = trouble;
    const patience =
      reason === 'FieldsChangedByCluster'
        ? 'the rollout waits until the cluster no longer changes these fields'
        : 'the problem may be temporary: the rollout waits until the deadline';
    // `explain` finds the remedy by this reason.
    return no(reason, `${message}; ${patience}`);
  },
  function componentsNotThere({ decision: { verdict, target } }) {
    const reason = target.kind === 'rollout' ? 'RolloutInProgress' : 'Reconciling';
    return verdict.kind === 'progressing' && no(reason, verdict.awaited);
  },
  function anotherHasFailed({ decision: { target } }) {
    const failed = failedBefore(target);
    return failed !== null && no(reasonOr(failed.reason, 'RolloutFailed'), failed.message);
  },
  function volumeRefused({ observed, failures }) {
    const refusal = volumeRefusal(observed, failures);
    return refusal && no(refusal.reason, `of the database, ${refusedResize(observed)}: ${refusal.message}`);
  },
  function secretAwaited({ observed, decision: { target } }) {
    const missing = target.heldUntil === null ? null : awaitedSecrets(observed);
    const { number } = observed.resource.spec.revision;
    return missing !== null && no('Reconciling', `${revisionName(number)} waits: ${missing}`);
  },
  function newerWaits({ decision: { target } }) {
    return target.heldUntil !== null && no('Reconciling', 'a newer revision is about to be rolled out');
  },
  function workLeft({ decision }) {
    return pendingWork(decision) > 0 && no('Reconciling', describePending(decision));
  },
  function routeNotReady({ route }) {
    return route?.status === 'False' && route;
  },
  function dataServicesMoving({ observed, decision }) {
    // The counts are older than a change that was just written.
    const written = changedJustNow(observed, decision, databaseName(observed.resource));
    if (written || !databaseState(observed).settled)
      return no('Reconciling', 'the database is being updated');
    const moves =
      changedJustNow(observed, decision, cacheName(observed.resource)) || !cacheState(observed).settled;
    return moves && no('Reconciling', 'the cache is being updated');
  },
  function newerIsBuilt({ observed }) {
    const building = buildFinding(observed);
    return building && notBuilt(building);
  },
  function volumeGrowing({ observed }) {
    const volume = volumeState(observed);
    return volume?.resizing && no('VolumeResizing', `the database: ${growing(volume)}`);
  },
];

/** Whether a workload or a volume size of this name differed from the desired state in this reconcile. */
function changedJustNow(observed: Observed, { comparisons }: Decision, name: string): boolean {
  return comparisons.some(({ object, desired, state, live }) => {
    if (object.metadata.name !== name) return false;
    if (desired.replicas !== undefined) return state !== 'same';
    return (
      desired.storage !== undefined &&
      live !== undefined &&
      sizeToRequest(volumeState(observed), desired.storage) !== null
    );
  });
}

/** The condition Ready: the finding of the first check that applies, otherwise True. */
export function ready(facts: Facts): Finding {
  for (const check of READY_CHECKS) {
    const finding = check(facts);
    if (finding) return finding;
  }
  const { revision } = facts.decision.target;
  const changed = safeChanges(facts.observed);
  if (changed !== '') {
    const kept = 'the cluster makes safe changes to objects that Berth writes';
    return yes('FieldsChangedByCluster', `${revisionName(revision?.number ?? 0)} runs; ${kept}: ${changed}`);
  }
  return yes('Converged', `${revisionName(revision?.number ?? 0)} runs as requested`);
}

const SHOWN = 3;

function describePending({ plan }: Decision): string {
  const all = [...plan.actions.map(({ id }) => id), ...plan.waiting];
  const more = all.length > SHOWN ? ` and ${all.length - SHOWN} more` : '';
  return `pending: ${all.slice(0, SHOWN).join(', ')}${more}`;
}
