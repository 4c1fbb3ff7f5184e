/** The result of a walk, and its oracles. */
export type WalkOracle =
  /** The state reached is the state reached directly. */
  | 'same-as-direct'
  /** Nothing is refused, by the cluster, that the API took; nothing fails that the walk gave no reason for. */
  | 'not-refused'
  /** It settles; nothing is left behind. */
  | 'not-stuck'
  /** What was before comes back, to the byte. */
  | 'reverts'
  /** The API answers 2xx or 4xx; a 4xx has no effect, a 2xx the one that the contract says. */
  | 'api'
  /** When all has settled nothing is asked and nothing is written; nothing was left unhandled. */
  | 'at-rest'
  /** A whole walk has been through all that it owes: what it has not been through it says nothing of. */
  | 'whole';

export interface WalkViolation {
  readonly oracle: WalkOracle;
  readonly seed: number;
  /** -1: of none. */
  readonly lane: number;
  /** Of the lane; 0 is its creation. */
  readonly step: number;
  readonly message: string;
  /** Lines of a difference of states. */
  readonly diff: readonly string[];
  /** The lane's steps that led there, since it was last found well. */
  readonly history: readonly string[];
}

export interface WalkResult {
  readonly seed: number;
  /** Calls made: taken and refused by the API. */
  readonly steps: number;
  readonly accepted: number;
  readonly refused: number;
  /** States that were compared with one that was reached directly. */
  readonly checkpoints: number;
  /** Of the lane that has the fewest of them. */
  readonly fewestCompared: number;
  /** Of the lane that made the fewest. */
  readonly shortest: number;
  /** Lanes whose last state neither runs as it is wanted nor is off. */
  readonly unwell: number;
  /** Checkpoints that found nothing to compare: switched off, or failed. */
  readonly skipped: number;
  /** Records that came back, and whose objects were compared. */
  readonly returned: number;
  readonly violations: readonly WalkViolation[];
  readonly seconds: number;
  /** What was walked through, a line each. */
  readonly figures: readonly string[];
  /** Fields that this walk has not been through. */
  readonly missing: readonly string[];
}
