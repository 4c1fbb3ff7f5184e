import type { RecordedSymptom } from '../../../contract/resource/managed-deployment.ts';
import type { Observed } from '../observed.ts';
import {
  DATA_SERVICES,
  type DataService,
  isDataService,
  isServiceLost,
  serviceState,
  serviceTrouble,
} from '../status/service-trouble.ts';
import { reasonOfTrouble } from './judge-rollout.ts';
import { type SeenSymptom, type TrackedSymptoms, trackSymptoms } from './symptom-records.ts';
import { type RunningSymptom, runningSymptomsOf } from './symptoms.ts';
import type { Target } from './target.ts';

/**
 * The failure rules outside rollouts. These rules determine why pods of the active revision, the database or the cache
 * do not run. A symptom outside rollouts is reported at once but is not a failure, because the cluster starts the pods
 * as soon as it can.
 */

/** Time after which a failing readiness probe is recorded, because a start takes some time. */
const READINESS_MS = 60_000;
/**
 * Minimum number of restarts of a crash loop. A single restart of a container whose pod is ready again is not a crash
 * loop.
 */
const FEWEST_RESTARTS = 2;

/**
 * The symptoms of running pods.
 * @param settled whether all pods of a component are available
 * @param expected whether the operator is already resolving the symptom, so that it is not a problem
 */
export function runningSymptoms(
  observed: Observed,
  target: Target,
  settled: (component: string) => boolean,
  now: number,
  expected: (symptom: RunningSymptom) => boolean = () => false,
): TrackedSymptoms {
  const { spec, status } = observed.resource;
  if (spec.suspend) return { records: [], current: [], dueAt: null };
  // During a rollout, the judgement of the rollout reports the symptoms of its pods.
  const isRunning = target.kind === 'active' || target.kind === 'restored';
  const components = isRunning
    ? runningSymptomsOf(observed, target, now)
        .filter((symptom) => !expected(symptom))
        .flatMap((symptom) => seenOf(symptom, now))
    : [];
  const services = DATA_SERVICES.flatMap((service) => serviceSymptom(observed, service, now));
  const isWatched = ({ component }: RecordedSymptom) => isRunning || isDataService(component);
  return trackSymptoms(
    (status?.symptoms ?? []).filter(isWatched),
    [...services, ...components],
    (component) => (isDataService(component) ? serviceState(observed, component).ready : settled(component)),
    now,
  );
}

function seenOf(symptom: RunningSymptom, now: number): SeenSymptom[] {
  const { component, message, failureSource, text, restarts, isOfReadyPod, since, recoversAt } = symptom;
  const isHistory = isOfReadyPod && (symptom.isOfEndedPods === true || restarts < FEWEST_RESTARTS);
  const { exitCode } = failureSource;
  const code = exitCode === undefined ? {} : { exitCode };
  const reason = reasonOfTrouble({ reason: symptom.reason, text, restarts, ...code });
  if (reason === null) return [];
  const recordedFrom =
    reason === 'ReadinessFailed' ? (since ?? now) + READINESS_MS : isHistory ? Number.POSITIVE_INFINITY : now;
  const endsAt = recoversAt ?? null;
  return [{ component, reason, message, failureSource, isQuiet: isOfReadyPod, recordedFrom, endsAt }];
}

function serviceSymptom(observed: Observed, service: DataService, now: number): SeenSymptom[] {
  const state = serviceState(observed, service);
  if (state.omitted || state.ready || !isServiceLost(observed, service, state)) return [];
  const trouble = serviceTrouble(observed, service);
  if (trouble === null || trouble.reason === null) return [];
  const { reason, failureSource } = trouble;
  const message = `${service}: ${trouble.message}`;
  return [
    { component: service, reason, message, failureSource, isQuiet: false, recordedFrom: now, endsAt: null },
  ];
}
