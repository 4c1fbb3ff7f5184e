/** The result of a walk, and its oracles. */
export type WalkOracle =
  /** The state equals that of a fresh deployment with the same record. */
  | 'same-as-direct'
  /** The cluster rejects nothing that the API has accepted, and nothing fails without a failing image. */
  | 'not-rejected'
  /** The deployment settles, and no object is left over. */
  | 'not-stuck'
  /** An earlier state returns byte for byte. */
  | 'reverts'
  /** The API returns 2xx or 4xx. A 4xx has no effect, and a 2xx has the effect of the contract. */
  | 'api'
  /** In the end there are no requests and no writes, and no errors were unhandled. */
  | 'at-rest'
  /** A complete walk has covered everything that it must cover. */
  | 'whole';

/** A violation of a walk. */
export interface WalkViolation {
  readonly oracle: WalkOracle;
  readonly seed: number;
  /** -1 if the violation belongs to no lane. */
  readonly lane: number;
  /** Number of the step in the lane. 0 is the creation. */
  readonly step: number;
  readonly message: string;
  /** Differences between two states. */
  readonly diff: readonly string[];
  /** The steps of the lane since its last successful checkpoint. */
  readonly history: readonly string[];
}

/** Result of a walk. */
export interface WalkResult {
  readonly seed: number;
  /** Number of calls, accepted or rejected by the API. */
  readonly steps: number;
  readonly accepted: number;
  readonly rejected: number;
  /** Number of comparisons with a fresh deployment. */
  readonly checkpoints: number;
  /** Number of comparisons of the lane with the fewest. */
  readonly fewestCompared: number;
  /** Number of steps of the lane with the fewest. */
  readonly shortest: number;
  /** Number of lanes that were neither ready nor switched off in the end. */
  readonly unhealthy: number;
  /** Checkpoints without a comparison, because the deployment was switched off or had failed. */
  readonly skipped: number;
  /** Number of comparisons with the objects of an earlier, equal record. */
  readonly returned: number;
  readonly violations: readonly WalkViolation[];
  readonly seconds: number;
  /** The covered moves and fields, one line each. */
  readonly figures: readonly string[];
  /** Fields that were not covered. */
  readonly missing: readonly string[];
}
