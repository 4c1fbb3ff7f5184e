import { databaseName } from '../../../workloads/names.ts';
import { refusedServices } from '../access/service-spec-policy.ts';
import { refusedResize, volumeRefusal } from '../decide/plan-volume.ts';
import {
  cacheState,
  databaseState,
  isLarger,
  leavingVolume,
  type ServiceState,
  type VolumeState,
  volumeNameOf,
  volumeState,
} from '../observe/data-services.ts';
import type { Failure } from '../observe/failure.ts';
import { keptVolumeText, suspendedRemovalText } from '../observe/kept-volume.ts';
import { liveChild, type Observed } from '../observed.ts';
import { type Finding, no, yes } from './conditions.ts';
import {
  claimFinalizers,
  leavingClaim,
  leavingTrouble,
  serviceLeaving,
  volumeLoss,
} from './deleted-services.ts';
import { isServiceLost, SERVICE_REASONS, serviceTrouble, serviceWorkload } from './service-trouble.ts';

/** Input of the conditions DatabaseReady and CacheReady. The rules of both conditions are part of findings.ts. */
export interface ServiceFacts {
  readonly observed: Observed;
  readonly failures: readonly Failure[];
  /** Whether the operator observes that no pod of the deployment runs. */
  readonly off: boolean;
  readonly now: Date;
}

/** The condition DatabaseReady; null keeps the former condition. */
export function databaseReady(facts: ServiceFacts): Finding | null {
  const { observed, failures } = facts;
  const state = databaseState(observed);
  const refusal = volumeRefusal(observed, failures);
  if (state.omitted) return noDatabase(observed);
  if (state.ready && isVolumeLeaving(observed)) return no('VolumeBeingDeleted', volumeRescue(observed));
  const loss = volumeLoss(observed);
  if (state.ready && loss !== null)
    return no('VolumeLost', `${loss}; the pod of the database continues to run`);
  if (isStopping(facts, state)) return stopped(facts, 'the database', suspendedRemovalText(observed));
  if (!state.ready) {
    const leaving = serviceLeaving(observed, 'database');
    if (leaving !== null) return leaving;
    const lost = failures.find(({ reason }) => reason === 'CredentialsLost');
    if (lost !== undefined) return no('CredentialsLost', lost.message);
    const { reason, message } = notReady(facts, 'database', state);
    return no(reason, `${message}${unboundClaim(observed)}${leavingClaim(observed)}`);
  }
  // The rejected change is reported only for a ready database; see isDataReady.
  if (refusal !== undefined) {
    const message = `the database accepts connections; ${refusedResize(observed)}: ${refusal.message}`;
    // A storage class without expansion needs a decision of the user. Other errors may be temporary, and the condition
    // Ready reports them.
    return refusal.reason === 'VolumeNotExpandable'
      ? no('VolumeNotExpandable', message)
      : yes('DatabaseAvailable', message);
  }
  const volume = volumeState(observed);
  if (volume?.resizing) return yes('VolumeResizing', `the database accepts connections; ${growing(volume)}`);
  return yes('DatabaseAvailable', `the database accepts connections${otherSize(observed, volume)}`);
}

/** The finding of a database that Berth does not run, with the volume that is kept. */
function noDatabase(observed: Observed): Finding {
  const kept = keptVolumeText(observed);
  return observed.resource.spec.database.external
    ? yes('ExternalDatabase', `DATABASE_URI_CUSTOM is used${kept}`)
    : yes('DatabaseDisabled', `database.enabled is false: Berth runs no database${kept}`);
}

/** Why the size of the volume or of its claim differs from the spec, if no action follows. */
function otherSize({ resource }: Observed, volume: VolumeState | undefined): string {
  if (volume?.capacity === undefined) return '';
  const { requested, capacity, takenBack } = volume;
  const { storage } = resource.spec.database;
  const larger = isLarger(capacity, storage)
    ? `; its volume has ${capacity}, more than the requested ${storage}, because a volume cannot shrink`
    : '';
  if (!takenBack) return larger;
  const has = larger === '' ? `; its volume has the requested ${capacity}` : larger;
  return (
    `${has}. The claim ${databaseName(resource)} still requests ${requested}, because Kubernetes does not lower ` +
    `a request to the capacity. The expansion may still succeed`
  );
}

function isVolumeLeaving(observed: Observed): boolean {
  return leavingVolume(observed) !== undefined;
}

/** States which pod still keeps the data, and how to save it. */
function volumeRescue(observed: Observed): string {
  const { namespace } = observed.resource.metadata;
  const name = databaseName(observed.resource);
  const volume =
    volumeNameOf(leavingVolume(observed) ?? {}) ??
    `$(kubectl get pvc -n ${namespace} ${name} -o jsonpath={.spec.volumeName})`;
  const keep = `kubectl patch pv ${volume} -p '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}'`;
  const dump = `kubectl exec -n ${namespace} ${name}-0 -- sh -c 'pg_dumpall -U "$POSTGRES_USER"'`;
  return `the volume claim ${name} was deleted: its data is lost when the pod ${name}-0 ends, so the database is neither restarted nor stopped; save the data: ${dump} > dump.sql, and ${keep}${claimFinalizers(observed)}`;
}

/** Progress of an expansion, in which the driver may wait for the node, or fail and retry. */
export function growing({ requested, resizeStep }: VolumeState): string {
  const step = resizeStep === undefined ? '' : `: ${resizeStep}`;
  return `its volume is being expanded to ${requested}${step}`;
}

/** Why the database's claim is not bound. The pod reports only that a claim is unbound. */
function unboundClaim(observed: Observed): string {
  const volume = volumeState(observed);
  const loss = volumeLoss(observed);
  if (loss !== null) return `; ${loss}`;
  if (volume === undefined || volume.bound) return '';
  const name = databaseName(observed.resource);
  const claim = liveChild(observed, 'PersistentVolumeClaim', name);
  const event = observed.warnings?.get(claim?.metadata.uid ?? '');
  const why = event === undefined ? '' : `: ${event.reason}: ${event.message}`;
  const { storage } = observed.resource.spec.database;
  const size = isLarger(volume.requested, storage)
    ? `; it requests ${volume.requested}, not ${storage}, and Kubernetes does not resize an unbound claim: delete ` +
      `the claim; it holds no data, and Berth creates it again`
    : '';
  return `; its volume claim ${name} is not bound${why}${size}`;
}

/** The condition CacheReady; null keeps the former condition. */
export function cacheReady(facts: ServiceFacts): Finding | null {
  const state = cacheState(facts.observed);
  if (state.omitted) {
    return facts.observed.resource.spec.cache.external
      ? yes('ExternalCache', 'CACHE_URI_CUSTOM is used')
      : yes('CacheDisabled', 'cache.enabled is false: Berth runs no cache');
  }
  if (isStopping(facts, state)) return stopped(facts, 'the cache');
  if (!state.ready) return serviceLeaving(facts.observed, 'cache') ?? notReady(facts, 'cache', state);
  return yes('CacheAvailable', 'the cache is available');
}

function isStopping({ observed, off }: ServiceFacts, state: ServiceState): boolean {
  return observed.resource.spec.suspend && (off || !state.ready);
}

/**
 * The finding of a service that was switched off. While pods still terminate, the former finding is kept, so that the
 * status does not flicker.
 */
function stopped({ off }: ServiceFacts, what: string, more = ''): Finding | null {
  return off ? no('SwitchedOff', `switched off: ${what} does not run, its data is kept${more}`) : null;
}

/** States that a data service is not ready, and why. */
function notReady(
  { observed, now }: ServiceFacts,
  service: 'database' | 'cache',
  state: ServiceState,
): Finding {
  const { starting, lost } = SERVICE_REASONS[service];
  const isLost = isServiceLost(observed, service, state);
  const what = isLost ? 'was ready and is no longer ready' : 'is not ready yet';
  const [refused] = refusedServices(observed).get(service) ?? [];
  if (refused !== undefined)
    return no('Refused', `the ${service} ${what}: ${refused.resourcePath}: ${refused.message}`);
  const why =
    leavingTrouble(observed, service, now) ??
    serviceTrouble(observed, service)?.message ??
    (isLost ? lackOf(observed, service, state) : null);
  const message = why === null ? `the ${service} ${what}` : `the ${service} ${what}: ${why}`;
  return no(isLost ? lost : starting, message);
}

/** The reason when the service has no pod. */
function lackOf(observed: Observed, service: 'database' | 'cache', { stopped }: ServiceState): string | null {
  const [kind, name] = serviceWorkload(observed.resource, service);
  if (liveChild(observed, kind, name) === undefined) return `its ${kind} ${name} is missing`;
  return stopped ? `its ${kind} ${name} requests no pods` : null;
}

/** The finding for Ready. A generic reason is replaced by the specific reason, if the user can act on it. */
export function serviceNotReady(
  observed: Observed,
  service: 'database' | 'cache',
  finding: Finding | null,
): Finding | false {
  if (finding?.status !== 'False') return false;
  const { starting, lost } = SERVICE_REASONS[service];
  const isVague = finding.reason === starting || finding.reason === lost;
  const reason = isVague ? serviceTrouble(observed, service)?.reason : null;
  return reason ? no(reason, finding.message) : finding;
}
