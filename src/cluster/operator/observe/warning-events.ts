import { databaseName } from '../../../workloads/names.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import type { UntypedObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import { liveChild, type Observed, type Telling } from '../observed.ts';
import { isOrdinary, isReadyPod, podTrouble } from '../pods/pod-trouble.ts';
import { workloadState } from '../pods/workload-state.ts';
import { asDate, type LookTime } from '../reconcile-time.ts';
import { volumeState } from './data-services.ts';

/**
 * What the cluster tells only as Events: a quota that keeps a StatefulSet from its pods, a volume that cannot be made or
 * mounted. They are not watched, there are too many; asked for are those of an object that has nothing else to say.
 */
export interface WarningEvents {
  readonly byUid: ReadonlyMap<string, Telling>;
  /** When they were asked for, in ticks. */
  readonly askedAt: number;
  /** Until they are asked for again, in ms; doubles while the trouble lasts. */
  readonly pauseMs: number;
}

export const NO_WARNING_EVENTS: WarningEvents = {
  byUid: new Map(),
  askedAt: Number.NEGATIVE_INFINITY,
  pauseMs: 0,
};

/** Who has waited so long without a word is asked about. */
const SILENCE_MS = 3_000;
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 60_000;
/** Pods of one Deployment wait for the same. */
const MOST_PODS = 3;
const MOST_EVENTS = 50;

interface Suspect {
  readonly uid: string;
  /** ms since the epoch. */
  readonly since: number;
}

/** Objects that wait for something that only an Event could name. */
export function suspectsOf(observed: Observed): Suspect[] {
  const { resource, pods } = observed;
  if (resource.spec.suspend) return [];
  const name = databaseName(resource);
  const claim = liveChild(observed, 'PersistentVolumeClaim', name);
  const database = liveChild(observed, 'StatefulSet', name);
  const state = database === undefined ? undefined : workloadState(database);
  const waiting = pods
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .filter((pod) => !isReadyPod(pod) && isOrdinary(podTrouble(pod).reason))
    .slice(0, MOST_PODS);
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

/** When Events have to be asked for next, in ms since the epoch; undefined: nothing waits in silence. */
export function warningEventsDue(
  suspects: readonly Suspect[],
  { askedAt, pauseMs }: WarningEvents,
  time: LookTime,
): number | undefined {
  if (suspects.length === 0) return undefined;
  return Math.max(
    Math.min(...suspects.map(({ since }) => since)) + SILENCE_MS,
    asDate(askedAt + pauseMs, time),
  );
}

/**
 * Asks for the Events of the suspects. What cannot be asked is as if nothing had been told.
 * @throws KubeError when the signal fires
 */
export async function readWarningEvents(
  client: Pick<KubeClient, 'list'>,
  { namespace, suspects }: { namespace: string; suspects: readonly Suspect[] },
  before: WarningEvents,
  { ticks }: LookTime,
  signal: AbortSignal,
): Promise<WarningEvents> {
  const told = await Promise.all(
    suspects.map(async ({ uid }) => [uid, await lastWarning(client, namespace, uid, signal)] as const),
  );
  return {
    byUid: new Map(told.flatMap(([uid, telling]) => (telling === undefined ? [] : [[uid, telling]]))),
    askedAt: ticks,
    pauseMs: Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, before.pauseMs * 2)),
  };
}

interface EventFields extends UntypedObject {
  type?: string;
  reason?: string;
  message?: string;
  lastTimestamp?: string | null;
  eventTime?: string | null;
}

async function lastWarning(
  client: Pick<KubeClient, 'list'>,
  namespace: string,
  uid: string,
  signal: AbortSignal,
): Promise<Telling | undefined> {
  try {
    const { items } = await client.list<EventFields>(RESOURCES.Event, {
      namespace,
      fieldSelector: `involvedObject.uid=${uid}`,
      limit: MOST_EVENTS,
      signal,
    });
    const time = (event: EventFields) =>
      Date.parse(event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp ?? '') || 0;
    const [last] = items.filter(({ type }) => type === 'Warning').sort((a, b) => time(b) - time(a));
    if (last?.reason === undefined) return undefined;
    return { reason: last.reason, message: last.message ?? '' };
  } catch (error) {
    if (signal.aborted || !isKubeError(error)) throw error;
    return undefined;
  }
}
