import type { ManagedDeploymentStatus } from '../contract/managed-deployment.ts';
import { LABELS } from '../contract/names.ts';
import type { ConditionType, Reason } from '../domain/conditions.ts';
import { labelValue } from '../workloads/labels.ts';
import { cacheName, databaseName } from '../workloads/names.ts';
import type { Finding } from './conditions.ts';
import {
  cacheState,
  databaseState,
  isLarger,
  requestedOf,
  type ServiceState,
  type VolumeState,
  volumeState,
} from './data-services.ts';
import type { Decision } from './decide.ts';
import type { Failure } from './failure.ts';
import { liveChild, type Observed } from './observed.ts';
import { isReadyPod, podsOf } from './pod-trouble.ts';
import type { Verdict } from './rollout.ts';
import { serviceTrouble } from './service-trouble.ts';
import { workloadState } from './workload-state.ts';

/**
 * What each condition says: for every type one ordered list of checks, of which the first that applies wins.
 * This list is the specification of the status.
 */
export interface Facts {
  readonly observed: Observed;
  readonly decision: Decision;
  readonly failures: readonly Failure[];
  readonly paused: boolean;
  /** Nothing of it runs, seen so. */
  readonly off: boolean;
  readonly activeRevision: ManagedDeploymentStatus['activeRevision'];
  /** How far the way in is; null: none is wanted. */
  readonly route: Finding | null;
}

const yes = (reason: Reason, message: string): Finding => ({ status: 'True', reason, message });
const no = (reason: Reason, message: string): Finding => ({ status: 'False', reason, message });

/** Every condition; null: leave it as it is. */
export function findings(facts: Facts): Partial<Record<ConditionType, Finding | null>> {
  return {
    DatabaseReady: databaseReady(facts),
    CacheReady: cacheReady(facts),
    ImageReady: imageReady(facts),
    Progressing: progressing(facts),
    Serving: serving(facts),
    // Nothing is said of a way in that nobody asked for.
    ...(facts.route === null ? {} : { RouteReady: facts.route }),
    Ready: ready(facts),
    ...(facts.paused
      ? {
          Paused: yes(
            'Paused',
            'the annotation berth.dev/paused is set: nothing in the cluster is changed until it is gone',
          ),
        }
      : {}),
  };
}

function databaseReady(facts: Facts): Finding | null {
  const { observed, failures } = facts;
  const state = databaseState(observed);
  const refusal = failures.find(({ reason }) => reason === 'VolumeNotExpandable');
  if (state.external) return yes('ExternalDatabase', 'DATABASE_URI_CUSTOM is used; no database is run');
  if (isStopping(facts, state)) return stopped(facts, 'the database');
  if (!state.ready) {
    const lost = failures.find(({ reason }) => reason === 'CredentialsLost');
    if (lost !== undefined) return no('CredentialsLost', lost.message);
    const starting = notReady(observed, 'database');
    return no('DatabaseStarting', `${starting}${unboundClaim(observed)}`);
  }
  // Known of a database that answers, and only of such a one: see isDataReady.
  if (refusal !== undefined) {
    return no('VolumeNotExpandable', `the database accepts connections; its volume: ${refusal.message}`);
  }
  const volume = volumeState(observed);
  if (volume?.resizing) return yes('VolumeResizing', `the database accepts connections; ${growing(volume)}`);
  return yes('DatabaseAvailable', 'the database accepts connections');
}

/** How far the growth is: the driver may wait for the node, or fail and try again. */
function growing({ requested, resizeStep }: VolumeState): string {
  const step = resizeStep === undefined ? '' : `: ${resizeStep}`;
  return `its volume is being grown to ${requested}${step}`;
}

/** A pod only says that some claim of its is not bound. */
function unboundClaim(observed: Observed): string {
  const volume = volumeState(observed);
  if (volume === undefined || volume.bound) return '';
  const name = databaseName(observed.resource);
  const claim = liveChild(observed, 'PersistentVolumeClaim', name);
  const told = observed.tellings?.get(claim?.metadata.uid ?? '');
  const why = told === undefined ? '' : `: ${told.reason}: ${told.message}`;
  return `; its volume claim ${name} is not bound${why}`;
}

function cacheReady(facts: Facts): Finding | null {
  const state = cacheState(facts.observed);
  if (state.external) return yes('ExternalCache', 'CACHE_URI_CUSTOM is used; no cache is run');
  if (isStopping(facts, state)) return stopped(facts, 'the cache');
  if (!state.ready) return no('CacheStarting', notReady(facts.observed, 'cache'));
  return yes('CacheAvailable', 'the cache is available');
}

function isStopping({ observed, off }: Facts, state: ServiceState): boolean {
  return observed.resource.spec.suspend && (off || !state.ready);
}

/** Between "it ends" and "nothing runs" the former finding stands: a status word must not flicker on its way off. */
function stopped({ off }: Facts, what: string): Finding | null {
  return off ? no('SwitchedOff', `switched off: ${what} does not run, its data is kept`) : null;
}

/** That a data service is not ready, and why. */
function notReady(observed: Observed, service: 'database' | 'cache'): string {
  const trouble = serviceTrouble(observed, service);
  const starting = `the ${service} is not ready yet`;
  return trouble === null ? starting : `${starting}: ${trouble.message}`;
}

function imageReady({ observed }: Facts): Finding {
  const { image } = observed.resource.spec.revision;
  return image === undefined ? noImage(observed) : yes('ImageGiven', `image ${image}`);
}

/** Only what has a repository is built; all else waits until somebody names an image. */
function noImage({ resource }: Observed): Finding {
  return resource.spec.source === 'git_host'
    ? no('AwaitingBuild', 'the image of the wanted revision is not built yet')
    : no('NoImage', 'no image is named yet: nothing but the data services can run');
}

function progressing({ observed, decision }: Facts): Finding {
  const { target, verdict } = decision;
  const name = revisionName(target.revision?.number ?? observed.resource.spec.revision.number);
  const next =
    target.heldUntil === null ? '' : `; ${revisionName(observed.resource.spec.revision.number)} follows`;
  if (target.kind === 'off') return no('SwitchedOff', 'switched off: nothing is rolled out');
  if (verdict.kind === 'idle') return no('NoRevision', 'there is no revision to run yet');
  if (verdict.kind === 'waiting') {
    return yes('AwaitingDataServices', `${name} is rolled out when database and cache are ready`);
  }
  if (verdict.kind === 'failed') return failed(observed, decision, verdict);
  if (verdict.kind === 'progressing' && target.kind === 'rollout') {
    return yes('RolloutInProgress', `${name}: ${verdict.awaited}${next}`);
  }
  return no('RolloutComplete', `${name} is rolled out to every component`);
}

/** What has failed, why, and what runs instead. */
function failed(
  { resource }: Observed,
  { target }: Decision,
  { seen, awaited, message }: Extract<Verdict, { kind: 'failed' }>,
): Finding {
  const { activeRevision } = resource.status ?? {};
  const number = seen ? target.revision?.number : target.failed?.number;
  const inPlace = activeRevision !== undefined && number === activeRevision.number;
  const what = inPlace ? `the change of ${revisionName(number)}` : revisionName(number ?? 0);
  const why = `${what} failed: ${message}`;
  if (seen) return no('RolloutFailed', why);
  if (target.kind === 'inspection') return no('RolloutFailed', `${why}; its pods are kept to be looked at`);
  const before = inPlace ? 'what ran before' : revisionName(target.revision?.number ?? 0);
  return awaited === null
    ? no('RolledBack', `${before} runs again: ${why}`)
    : no('RolloutFailed', `${why}; ${before} is being brought back: ${awaited}`);
}

function revisionName(number: number): string {
  return `revision ${number}`;
}

function serving({ observed, decision, activeRevision, off }: Facts): Finding {
  if (activeRevision === undefined) return no('Unavailable', 'no revision is active yet');
  if (off) return no('SwitchedOff', 'switched off: nothing serves');
  const { id, number } = activeRevision;
  const label = labelValue(id ?? String(number));
  const available = podsOf(observed, 'api').filter(
    (pod) => isReadyPod(pod) && pod.metadata.labels?.[LABELS.revisionId] === label,
  );
  // The Deployment may be ahead of the cache of pods.
  const counted =
    decision.target.name === activeRevision.templates &&
    decision.components.some(
      ({ name, updated, available }) => name === 'api' && Math.min(updated, available) > 0,
    );
  return available.length > 0 || counted
    ? yes('Available', `an api pod of ${revisionName(number)} is available`)
    : no('Unavailable', `no api pod of ${revisionName(number)} is available`);
}

type Check = (facts: Facts) => Finding | null | undefined | false;

const pendingWork = ({ plan }: Decision) => plan.actions.length + plan.waiting.length;

/** The condition of the service says that it starts; here it is called by what keeps it, if somebody can see to that. */
function notStarted({ observed }: Facts, service: 'database' | 'cache', finding: Finding | null) {
  if (finding?.status !== 'False') return false;
  const isStarting = finding.reason === 'DatabaseStarting' || finding.reason === 'CacheStarting';
  const reason = isStarting ? serviceTrouble(observed, service)?.reason : null;
  return reason ? no(reason, finding.message) : finding;
}

/** What stands between the resource and Ready=True; the first that applies is told. */
const READY_CHECKS: readonly Check[] = [
  function pausedBeforeDone({ paused, decision }) {
    return paused && pendingWork(decision) > 0 && no('Paused', `paused: ${describePending(decision)}`);
  },
  function refused({ failures: [failure] }) {
    return failure !== undefined && no(failure.reason, failure.message);
  },
  function switchedOff({ observed, off }) {
    const message = off ? 'switched off: nothing runs, the data is kept' : 'is being switched off';
    return observed.resource.spec.suspend && no('SwitchedOff', message);
  },
  function databaseNotReady(facts) {
    return notStarted(facts, 'database', databaseReady(facts));
  },
  function cacheNotReady(facts) {
    return notStarted(facts, 'cache', cacheReady(facts));
  },
  function imageMissing({ observed, decision }) {
    if (observed.resource.spec.revision.image !== undefined) return false;
    const { reason, message } = noImage(observed);
    return no(decision.target.kind === 'no-revision' ? 'NoRevision' : reason, message);
  },
  function failed({ decision: { verdict } }) {
    return verdict.kind === 'failed' && no(verdict.reason, verdict.message);
  },
  function componentsInTrouble({ decision: { verdict } }) {
    const trouble = verdict.kind === 'progressing' ? verdict.trouble : undefined;
    // What it is called is what explain has a remedy for.
    return (
      trouble && no(trouble.reason, `${trouble.message}; it may pass: it is waited for until the deadline`)
    );
  },
  function componentsNotThere({ decision: { verdict, target } }) {
    const reason = target.kind === 'rollout' ? 'RolloutInProgress' : 'Reconciling';
    return verdict.kind === 'progressing' && no(reason, verdict.awaited);
  },
  function newerWaits({ decision: { target } }) {
    return target.heldUntil !== null && no('Reconciling', 'a newer revision is about to be rolled out');
  },
  function workLeft({ decision }) {
    return pendingWork(decision) > 0 && no('Reconciling', describePending(decision));
  },
  function noWayIn({ route }) {
    return route?.status === 'False' && route;
  },
  function dataServicesMoving({ observed, decision }) {
    // What was written just now is not seen yet: the counts speak of what was there before.
    const written = changedJustNow(decision, databaseName(observed.resource));
    if (written || !databaseState(observed).settled)
      return no('Reconciling', 'the database is being updated');
    const moves = changedJustNow(decision, cacheName(observed.resource)) || !cacheState(observed).settled;
    return moves && no('Reconciling', 'the cache is being updated');
  },
  function volumeGrowing({ observed }) {
    const volume = volumeState(observed);
    return volume?.resizing && no('VolumeResizing', `the database: ${growing(volume)}`);
  },
];

/** A workload, or the size of a volume, of this name that was not as it is wanted when it was looked at. */
function changedJustNow({ comparisons }: Decision, name: string): boolean {
  return comparisons.some(({ object, desired, state, live }) => {
    if (object.metadata.name !== name) return false;
    if (desired.replicas !== undefined) return state !== 'same';
    return (
      desired.storage !== undefined && live !== undefined && isLarger(desired.storage, requestedOf(live))
    );
  });
}

function ready(facts: Facts): Finding {
  for (const check of READY_CHECKS) {
    const finding = check(facts);
    if (finding) return finding;
  }
  const { revision } = facts.decision.target;
  return yes('Converged', `${revisionName(revision?.number ?? 0)} runs as it is wanted`);
}

const SHOWN = 3;

function describePending({ plan }: Decision): string {
  const all = [...plan.actions.map(({ id }) => id), ...plan.waiting];
  const more = all.length > SHOWN ? ` and ${all.length - SHOWN} more` : '';
  return `to do: ${all.slice(0, SHOWN).join(', ')}${more}`;
}

/** Nothing of a deployment that is switched off runs any more: no pod is left, and none is asked for. */
export function isOff({ resource, pods, children }: Observed): boolean {
  if (!resource.spec.suspend || pods.length > 0) return false;
  const workloads = [...children.values()].filter(
    ({ kind }) => kind === 'Deployment' || kind === 'StatefulSet',
  );
  return workloads.map(workloadState).every(({ wanted, pods: counted, current }) => {
    return current && wanted === 0 && counted === 0;
  });
}
