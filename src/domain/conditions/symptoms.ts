import type { FailureSource } from './failure-source.ts';

/** A symptom of running pods outside of a rollout, as the operator reports it. It fails no revision. */
export interface ReportedSymptom {
  /** A component of the app, `database` or `cache`. */
  readonly component: string;
  /** Of REASONS. */
  readonly reason: string;
  /** A sentence that begins with the component and names the source. */
  readonly message: string;
  /** Absent: not known. */
  readonly failureSource?: FailureSource | undefined;
  /** When it was first observed. */
  readonly since: string;
  /** It is not observed now, but the recovery of the component is not certain. */
  readonly quiet?: boolean | undefined;
}

type Key = Pick<ReportedSymptom, 'component' | 'reason'>;
const isSame = (a: Key, b: Key) => a.component === b.component && a.reason === b.reason;

/** New symptoms and those that are over. The same symptom on another pod is not a change. */
export function symptomDifference<Symptom extends Key>(
  before: readonly Symptom[],
  after: readonly Symptom[],
): { readonly started: readonly Symptom[]; readonly ended: readonly Symptom[] } {
  const without = (symptoms: readonly Symptom[], others: readonly Symptom[]) =>
    symptoms.filter((symptom) => !others.some((other) => isSame(symptom, other)));
  return { started: without(after, before), ended: without(before, after) };
}

/** Message of the event that a symptom is over. */
export function recoveryMessage({ component, reason }: Key): string {
  return `${component}: ${reason} is over`;
}
