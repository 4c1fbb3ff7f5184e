import { LABELS } from '../../../contract/resource/names.ts';
import { APP_CONTAINER_NAME } from '../../../domain/deployment/reserved.ts';
import { COMPONENTS } from '../../../domain/resource-spec/components.ts';
import { databaseName } from '../../../workloads/names.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import type { UntypedObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import { liveChild, type Observed, type ObservedPod, UNHEALTHY, type WarningEvent } from '../observed.ts';
import { mayBeEndedByCheck } from '../pods/failed-check.ts';
import { isOrdinary, isReadyPod, podTrouble } from '../pods/pod-trouble.ts';
import { workloadState } from '../pods/workload-state.ts';
import { asDate, type ReconcileTime } from '../reconcile-time.ts';
import { volumeState } from './data-services.ts';

/**
 * Reads problems that Kubernetes reports only as Events, such as a quota that blocks a StatefulSet, or a volume that
 * cannot be provisioned or mounted. Events are not watched, because a cluster has too many. Events are listed only for
 * objects without another reported reason.
 */
export interface WarningEvents {
  readonly byUid: ReadonlyMap<string, WarningEvent>;
  /** Time of the last read, in ticks. */
  readonly readAt: number;
  /** Pause until the next read, in ms. Doubles while the problem persists. */
  readonly pauseMs: number;
}

export const NO_WARNING_EVENTS: WarningEvents = {
  byUid: new Map(),
  readAt: Number.NEGATIVE_INFINITY,
  pauseMs: 0,
};

/** Time that an object must have waited without a reported reason before its Events are read. */
const SILENCE_MS = 3_000;
const FIRST_PAUSE_MS = 5_000;
const MAX_PAUSE_MS = 60_000;
/** Maximum number of pods whose Events are read. Pods of one Deployment wait for the same reason. */
const MAX_PODS = 3;
const MAX_EVENTS = 50;

interface Suspect {
  readonly uid: string;
  /** Start of the wait, in ms since the epoch. */
  readonly since: number;
}

/**
 * Whether a health check of the deployment may have ended the container. Only an Event has the last answer of the check.
 * Without a check of its own, a deployment causes no further reads.
 */
function mayFailCheck({ spec }: Observed['resource'], pod: ObservedPod): boolean {
  const component = COMPONENTS.find((name) => name === pod.metadata.labels?.[LABELS.component]);
  const type = component === undefined ? undefined : spec.components[component]?.healthCheck?.type;
  return type !== undefined && type !== 'none' && mayBeEndedByCheck(podTrouble(pod));
}

/** Objects that wait for a reason that only an Event could name. */
export function suspectsOf(observed: Observed): Suspect[] {
  const { resource, pods } = observed;
  if (resource.spec.suspend) return [];
  const name = databaseName(resource);
  const claim = liveChild(observed, 'PersistentVolumeClaim', name);
  const database = liveChild(observed, 'StatefulSet', name);
  const state = database === undefined ? undefined : workloadState(database);
  const waiting = pods
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .filter((pod) => !isReadyPod(pod) && (isOrdinary(podTrouble(pod).reason) || mayFailCheck(resource, pod)))
    .slice(0, MAX_PODS);
  return [
    ...(volumeState(observed)?.bound === false ? [claim] : []),
    ...(state !== undefined && state.pods < state.wanted ? [database] : []),
    ...waiting,
  ].flatMap((object) => {
    const { uid, creationTimestamp } = object?.metadata ?? {};
    const since = Date.parse(creationTimestamp ?? '');
    return uid === undefined || Number.isNaN(since) ? [] : [{ uid, since }];
  });
}

/** When to read Events next, in ms since the epoch; undefined: no object waits without a reason. */
export function warningEventsDue(
  suspects: readonly Suspect[],
  { readAt, pauseMs }: WarningEvents,
  time: ReconcileTime,
): number | undefined {
  if (suspects.length === 0) return undefined;
  return Math.max(
    Math.min(...suspects.map(({ since }) => since)) + SILENCE_MS,
    asDate(readAt + pauseMs, time),
  );
}

/**
 * Reads the Events of the suspects. A failed read counts as no Event.
 * @throws KubeError when the signal fires
 */
export async function readWarningEvents(
  client: Pick<KubeClient, 'list'>,
  { namespace, suspects }: { namespace: string; suspects: readonly Suspect[] },
  before: WarningEvents,
  { ticks }: ReconcileTime,
  signal: AbortSignal,
): Promise<WarningEvents> {
  const warnings = await Promise.all(
    suspects.map(async ({ uid }) => [uid, await lastWarning(client, namespace, uid, signal)] as const),
  );
  return {
    byUid: new Map(warnings.flatMap(([uid, warning]) => (warning === undefined ? [] : [[uid, warning]]))),
    readAt: ticks,
    pauseMs: Math.min(MAX_PAUSE_MS, Math.max(FIRST_PAUSE_MS, before.pauseMs * 2)),
  };
}

interface EventFields extends UntypedObject {
  type?: string;
  reason?: string;
  message?: string;
  lastTimestamp?: string | null;
  eventTime?: string | null;
  series?: { lastObservedTime?: string | null } | null;
  involvedObject?: { fieldPath?: string };
}

const timeOf = ({ lastTimestamp, series, eventTime, metadata }: EventFields) =>
  Date.parse(lastTimestamp ?? series?.lastObservedTime ?? eventTime ?? metadata.creationTimestamp ?? '') || 0;

/** The message of the Event with which the kubelet ends a container. The Event is not a warning. */
const KILLED_BY_PROBE = / failed (?:liveness|startup) probe, will be restarted$/;

/** Whether the Event can be about the app container. Another container, such as an injected sidecar, may have probes too. */
function mayBeOfApp({ involvedObject }: EventFields): boolean {
  const path = involvedObject?.fieldPath;
  return path === undefined || path === `spec.containers{${APP_CONTAINER_NAME}}`;
}

/** The newest warning, and the failed probes of the app and when they ended it. @param events newest first */
function toWarning(events: readonly EventFields[]): WarningEvent | undefined {
  const warnings = events.filter(({ type }) => type === 'Warning');
  const [last] = warnings;
  if (last?.reason === undefined) return undefined;
  const ofApp = events.filter(mayBeOfApp);
  const checks = ofApp
    .filter(({ type, reason }) => type === 'Warning' && reason === UNHEALTHY)
    .map((event) => ({ message: event.message ?? '', at: timeOf(event) }));
  const killedAt = ofApp
    .filter(({ reason, message = '' }) => reason === 'Killing' && KILLED_BY_PROBE.test(message))
    .map(timeOf);
  return {
    reason: last.reason,
    message: last.message ?? '',
    ...(checks.length === 0 ? {} : { checks }),
    ...(killedAt.length === 0 ? {} : { killedAt }),
  };
}

async function lastWarning(
  client: Pick<KubeClient, 'list'>,
  namespace: string,
  uid: string,
  signal: AbortSignal,
): Promise<WarningEvent | undefined> {
  try {
    const { items } = await client.list<EventFields>(RESOURCES.Event, {
      namespace,
      fieldSelector: `involvedObject.uid=${uid}`,
      limit: MAX_EVENTS,
      signal,
    });
    return toWarning(items.toSorted((a, b) => timeOf(b) - timeOf(a)));
  } catch (error) {
    if (signal.aborted || !isKubeError(error)) throw error;
    return undefined;
  }
}
