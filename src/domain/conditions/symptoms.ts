import type { FailureSource } from './failure-source.ts';

/** A symptom of running pods outside of a rollout, as the operator reports it. A symptom does not fail a revision. */
export interface ReportedSymptom {
  /** Name of a component of the app, `database` or `cache`. */
  readonly component: string;
  /** Of REASONS. */
  readonly reason: string;
  /** A sentence that begins with the component and names the source. */
  readonly message: string;
  /** Absent: not known. */
  readonly failureSource?: FailureSource | undefined;
  /** Time at which the symptom was first observed. */
  readonly since: string;
  /** Whether the symptom is not observed now, while the recovery of the component is not certain. */
  readonly quiet?: boolean | undefined;
}

type Key = Pick<ReportedSymptom, 'component' | 'reason'>;
const isSame = (a: Key, b: Key) => a.component === b.component && a.reason === b.reason;

/** New symptoms, and symptoms that have ended. The same symptom on another pod is not a change. */
export function symptomDifference<Symptom extends Key>(
  before: readonly Symptom[],
  after: readonly Symptom[],
): { readonly started: readonly Symptom[]; readonly ended: readonly Symptom[] } {
  const without = (symptoms: readonly Symptom[], others: readonly Symptom[]) =>
    symptoms.filter((symptom) => !others.some((other) => isSame(symptom, other)));
  return { started: without(after, before), ended: without(before, after) };
}

/** Message of the event that a symptom has ended. */
export function recoveryMessage({ component, reason }: Key): string {
  return `${component}: ${reason} is over`;
}
