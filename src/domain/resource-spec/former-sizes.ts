/**
 * Previous sizes of the database volume, which are accepted again until the cluster reports a larger volume. The hub
 * stores previous sizes, because a report may arrive late or never.
 */

/** A size that was in effect. */
export interface FormerSize {
  /** The first generation with another size. */
  readonly until: number;
  readonly gi: number;
  /** Last reported capacity of the volume when the size was changed; null: no capacity was reported. */
  readonly capacityGi: number | null;
}

/** The known sizes of the volume. */
export interface KnownSizes {
  /** The size in effect now, in Gi. */
  readonly sizeGi: number;
  /** Ordered by generation. */
  readonly former: readonly FormerSize[];
  /** The generation that was in effect at the last report; 0: nothing was reported. */
  readonly observedGeneration: number;
  /** The capacity in Gi of the last report; null: the report had no capacity. */
  readonly capacityGi: number | null;
}

/** Maximum number of sizes that are kept. */
const MAX_FORMER_SIZES = 16;

/**
 * Capacity of the volume in Gi. The report of an earlier listener contains the capacity only if it differs from the
 * size in effect. Before the first report, the capacity is assumed to be the first size, because a cluster does not
 * expand a volume by itself.
 */
export function knownCapacity({ sizeGi, former, observedGeneration, capacityGi }: KnownSizes): number {
  return capacityGi ?? former.find(({ until }) => until > observedGeneration)?.gi ?? sizeGi;
}

/**
 * Former sizes that are accepted again although they are below the capacity, because the volume has not grown since
 * then.
 */
export function acceptedAgain(known: KnownSizes): readonly FormerSize[] {
  const capacity = knownCapacity(known);
  return known.former.filter(
    ({ gi, capacityGi }) => gi < capacity && capacityGi !== null && capacityGi >= capacity,
  );
}

/** The former sizes after the size has changed. `generation` is the first generation with the new size. */
export function withFormerSize(known: KnownSizes, generation: number): FormerSize[] {
  const { sizeGi, former, observedGeneration, capacityGi } = known;
  const isReported = observedGeneration > 0 || capacityGi !== null;
  const latest = { until: generation, gi: sizeGi, capacityGi: isReported ? knownCapacity(known) : null };
  const again = new Set(acceptedAgain(known).filter(({ gi }) => gi !== sizeGi || !isReported));
  const kept = former.filter((each) => each.until > observedGeneration || again.has(each));
  return merged([...kept, latest]);
}

/**
 * Merges the second and third size while the list is too long. The first size comes from the last report, and users
 * return to the latest sizes.
 */
function merged(sizes: readonly FormerSize[]): FormerSize[] {
  const [first, second, third, ...rest] = sizes;
  if (sizes.length <= MAX_FORMER_SIZES || first === undefined || second === undefined || third === undefined)
    return [...sizes];
  // The larger of both sizes is kept, so that a late report of either size does not result in less than the actual
  // capacity.
  const both = { until: third.until, gi: Math.max(second.gi, third.gi), capacityGi: null };
  return merged([first, both, ...rest]);
}
