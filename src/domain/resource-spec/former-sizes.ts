/**
 * Previous sizes of the database volume, which are accepted again until the cluster reports a larger volume. The hub stores
 * them, because a report may arrive late or never.
 */

/** A size that was in effect. */
export interface FormerSize {
  /** The first generation with another size. */
  readonly until: number;
  readonly gi: number;
  /** Capacity of the volume when the size was changed, as far as it was reported; null: nothing was reported. */
  readonly capacityGi: number | null;
}

/** What is known of the volume. */
export interface KnownSizes {
  /** The size in effect now, in Gi. */
  readonly sizeGi: number;
  /** Ordered by generation. */
  readonly former: readonly FormerSize[];
  /** The generation that was in effect at the last report; 0: nothing was reported. */
  readonly observedGeneration: number;
  /** The capacity in Gi of the last report; null: it had none. */
  readonly capacityGi: number | null;
}

/** Most sizes that are kept. */
const MAX_FORMER_SIZES = 16;

/**
 * Capacity of the volume in Gi. A report of an earlier listener has it only where it is not the size in effect. Before the
 * first report it is the first size: no cluster has grown a volume by itself.
 */
export function knownCapacity({ sizeGi, former, observedGeneration, capacityGi }: KnownSizes): number {
  return capacityGi ?? former.find(({ until }) => until > observedGeneration)?.gi ?? sizeGi;
}

/** Former sizes that are accepted again although they are below the capacity: the volume has not grown since. */
export function acceptedAgain(known: KnownSizes): readonly FormerSize[] {
  const capacity = knownCapacity(known);
  return known.former.filter(
    ({ gi, capacityGi }) => gi < capacity && capacityGi !== null && capacityGi >= capacity,
  );
}

/** The former sizes after the size has changed. `generation` is the first one with the new size. */
export function withFormerSize(known: KnownSizes, generation: number): FormerSize[] {
  const { sizeGi, former, observedGeneration, capacityGi } = known;
  const isReported = observedGeneration > 0 || capacityGi !== null;
  const latest = { until: generation, gi: sizeGi, capacityGi: isReported ? knownCapacity(known) : null };
  const again = new Set(acceptedAgain(known).filter(({ gi }) => gi !== sizeGi || !isReported));
  const kept = former.filter((each) => each.until > observedGeneration || again.has(each));
  return merged([...kept, latest]);
}

/** Drops the oldest but one: the first is that of the last report, and the last ones are what a user returns to. */
function merged(sizes: readonly FormerSize[]): FormerSize[] {
  const [first, second, third, ...rest] = sizes;
  if (sizes.length <= MAX_FORMER_SIZES || first === undefined || second === undefined || third === undefined)
    return [...sizes];
  // The larger of two: a late report of either of them then stands for no less than the volume has.
  const both = { until: third.until, gi: Math.max(second.gi, third.gi), capacityGi: null };
  return merged([first, both, ...rest]);
}
