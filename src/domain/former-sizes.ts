/**
 * Sizes of the database's volume that were in effect before the one of now, so that they are accepted again until the
 * cluster has reported a larger volume. The hub keeps them: a report may come late, or not at all.
 */

/** A size that was in effect. */
export interface FormerSize {
  /** The first generation with another size. */
  readonly until: number;
  readonly gi: number;
  /** Capacity of the volume while the size was in effect, as reported then; null: nothing was reported. */
  readonly capacityGi: number | null;
}

/** What is known of the volume. */
export interface SizesKnown {
  /** The size in effect now, in Gi. */
  readonly sizeGi: number;
  /** Ordered by generation. */
  readonly former: readonly FormerSize[];
  /** The generation that the last report is about; 0: nothing was reported. */
  readonly observedGeneration: number;
  /** The capacity in Gi of the last report; null: it had none, because it was that of the size in effect, or not known. */
  readonly capacityGi: number | null;
}

/** Most sizes that are kept. */
const MOST = 16;

const isUnreported =
  (observedGeneration: number) =>
  ({ until }: FormerSize): boolean =>
    until > observedGeneration;

/** Capacity of the volume in Gi, as far as reports say; without one: the size that was in effect at the last report. */
export function knownCapacity({ sizeGi, former, observedGeneration, capacityGi }: SizesKnown): number {
  return capacityGi ?? former.find(isUnreported(observedGeneration))?.gi ?? sizeGi;
}

/**
 * Former sizes that are accepted again, whatever the capacity: those that no report has followed, and those whose volume
 * has not grown since.
 */
export function acceptedAgain(known: SizesKnown): readonly FormerSize[] {
  const capacity = knownCapacity(known);
  const unreported = isUnreported(known.observedGeneration);
  return known.former.filter(
    (each) => unreported(each) || (each.capacityGi !== null && each.capacityGi >= capacity),
  );
}

/** The former sizes after the size has changed. `generation` is the first one with the new size. */
export function withFormerSize(known: SizesKnown, generation: number): FormerSize[] {
  const { sizeGi, former, observedGeneration } = known;
  const unreported = isUnreported(observedGeneration);
  const isReported = observedGeneration > 0 && !former.some(unreported);
  const latest = { until: generation, gi: sizeGi, capacityGi: isReported ? knownCapacity(known) : null };
  const isNeeded = ({ gi }: FormerSize) => gi < knownCapacity(known) && !(isReported && gi === sizeGi);
  const kept = acceptedAgain(known).filter((each) => unreported(each) || isNeeded(each));
  return merged([...kept, latest]);
}

/** The first is that of the last report, and the last ones are what a user returns to. */
function merged(sizes: readonly FormerSize[]): FormerSize[] {
  const [first, second, third, ...rest] = sizes;
  if (sizes.length <= MOST || first === undefined || second === undefined || third === undefined)
    return [...sizes];
  // The larger of two: a late report of either of them then stands for no less than the volume has.
  const both = { until: third.until, gi: Math.max(second.gi, third.gi), capacityGi: null };
  return merged([first, both, ...rest]);
}
