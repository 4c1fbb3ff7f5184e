import { MAX_SYMPTOMS } from '../../../contract/resource/definition.ts';
import type { RecordedSymptom } from '../../../contract/resource/managed-deployment.ts';
import type { ResourceFailureSource } from '../../../contract/resource/resource-failure-source.ts';
import type { Reason } from '../../../domain/conditions/conditions.ts';
import { shortened } from '../status/conditions.ts';

/**
 * The records of symptoms outside rollouts, one for each component and reason. With these records, a crash loop is one
 * entry in the history instead of one for each restart. A symptom that is no longer observed remains recorded until its
 * component has recovered. Pure.
 */

/** A symptom that is currently observed. */
export interface SeenSymptom {
  /** Name of the component or data service. */
  readonly component: string;
  readonly reason: Reason;
  /** A sentence that begins with the component. */
  readonly message: string;
  readonly failureSource: ResourceFailureSource;
  /** All pods are ready at the moment, because the failed container runs again. */
  readonly isQuiet: boolean;
  /** When the symptom is recorded if it persists, in ms since the epoch. */
  readonly recordedFrom: number;
  /** When the symptom ends if nothing changes before, in ms since the epoch; null: not known. */
  readonly endsAt: number | null;
}

export interface TrackedSymptoms {
  /** The records for the status. */
  readonly records: readonly RecordedSymptom[];
  /** Symptoms that cause pods to be missing now, one for each component and reason, in the order of components. */
  readonly current: readonly NamedSymptom[];
  /** When the records change if no event occurs before, in ms since the epoch; null: never. */
  readonly dueAt: number | null;
}

export type NamedSymptom = Pick<SeenSymptom, 'component' | 'reason' | 'message' | 'failureSource'>;

/**
 * Time for which a component must be ready before a symptom of readiness ends, because readiness may flap. Other
 * symptoms end as soon as all pods of the component are available.
 */
const READINESS_SETTLES_MS = 30_000;

const keyOf = ({ component, reason }: { component: string; reason: string }) => `${component}/${reason}`;

/**
 * The records after this observation.
 * @param recovered whether all pods of a component run and are available
 */
export function trackSymptoms(
  before: readonly RecordedSymptom[],
  seen: readonly SeenSymptom[],
  recovered: (component: string) => boolean,
  now: number,
): TrackedSymptoms {
  const groups = [...Map.groupBy(seen, keyOf).values()];
  const known = new Map(before.map((record) => [keyOf(record), record]));
  const found = groups.flatMap((group) => recordOf(group, known.get(keyOf(group[0] as SeenSymptom)), now));
  const seenKeys = new Set(groups.flatMap(([first]) => (first === undefined ? [] : [keyOf(first)])));
  const left = before
    .filter((record) => !seenKeys.has(keyOf(record)))
    .map((record) => quiet(record, now))
    .filter((record) => !recovered(record.component) || now < settlesAt(record));
  const records = [...found, ...left].slice(0, MAX_SYMPTOMS);
  const times = [
    ...seen.flatMap(({ endsAt, recordedFrom }) => [endsAt ?? Number.POSITIVE_INFINITY, recordedFrom]),
    ...left.map(settlesAt),
  ].filter((time) => time > now && Number.isFinite(time));
  return {
    records,
    current: groups.flatMap((group) => currentOf(group, known.get(keyOf(group[0] as SeenSymptom)))),
    dueAt: times.length === 0 ? null : Math.min(...times),
  };
}

/**
 * Of several pods with the same symptom, chooses the recorded pod, so that the text does not change at each restart.
 */
function chosenOf(
  group: readonly SeenSymptom[],
  known: RecordedSymptom | undefined,
): SeenSymptom | undefined {
  const loud = group.filter(({ isQuiet }) => !isQuiet);
  const candidates = loud.length > 0 ? loud : group;
  return (
    candidates.find(({ failureSource }) => isSameSource(failureSource, known?.failureSource)) ?? candidates[0]
  );
}

/**
 * Keeps the recorded message of the same failure if it reports a back-off, which is more informative than the restarts
 * before and after it.
 */
function named(chosen: SeenSymptom, known: RecordedSymptom | undefined): NamedSymptom {
  const { component, reason, message, failureSource } = chosen;
  const isKept =
    known?.failureSource !== undefined &&
    isSameSource(failureSource, known.failureSource) &&
    failureSource.exitCode === known.failureSource.exitCode &&
    known.message.includes('BackOff');
  return isKept
    ? { component, reason, message: known.message, failureSource: known.failureSource ?? failureSource }
    : { component, reason, message: shortened(message), failureSource };
}

function isSameSource(a: ResourceFailureSource, b: ResourceFailureSource | undefined): boolean {
  return b !== undefined && a.kind === b.kind && a.object === b.object && a.container === b.container;
}

function recordOf(
  group: readonly SeenSymptom[],
  known: RecordedSymptom | undefined,
  now: number,
): RecordedSymptom[] {
  const chosen = chosenOf(group, known);
  if (chosen === undefined) return [];
  if (known === undefined && group.every(({ recordedFrom }) => recordedFrom > now)) return [];
  const record = {
    ...named(chosen, known),
    firstObservedTime: known?.firstObservedTime ?? seconds(now),
  };
  return [
    group.every(({ isQuiet }) => isQuiet)
      ? { ...record, lastObservedTime: known?.lastObservedTime ?? seconds(now) }
      : record,
  ];
}

function currentOf(group: readonly SeenSymptom[], known: RecordedSymptom | undefined): NamedSymptom[] {
  const loud = group.filter(({ isQuiet }) => !isQuiet);
  const chosen = chosenOf(loud, known);
  return chosen === undefined ? [] : [named(chosen, known)];
}

function quiet(record: RecordedSymptom, now: number): RecordedSymptom {
  return { ...record, lastObservedTime: record.lastObservedTime ?? seconds(now) };
}

/** When the record of a recovered component ends, in ms since the epoch. */
function settlesAt({ reason, lastObservedTime }: RecordedSymptom): number {
  if (reason !== ('ReadinessFailed' satisfies Reason)) return Number.NEGATIVE_INFINITY;
  const since = Date.parse(lastObservedTime ?? '');
  return Number.isNaN(since) ? Number.NEGATIVE_INFINITY : since + READINESS_SETTLES_MS;
}

/** metav1.Time has no fractions of a second. */
function seconds(time: number): string {
  return new Date(time).toISOString().replace(/\.\d+Z$/, 'Z');
}
