import type { BranchWatch } from '../../../domain/builds/branch-watch.ts';

/** The JSON of `deployments.branch_watch`. The previous version reads and writes the same keys. */
export interface StoredBranchWatch extends Omit<BranchWatch, 'reportedFailure'> {
  /** `BranchWatch.reportedFailure`. */
  readonly told: BranchWatch['reportedFailure'];
}

/** The JSON to store. */
export function toStoredWatch({ reportedFailure, ...others }: BranchWatch): StoredBranchWatch {
  return { ...others, told: reportedFailure };
}

/** The stored state of a branch. null: no state was stored. */
export function fromStoredWatch(stored: StoredBranchWatch | null): BranchWatch | null {
  if (stored === null) return null;
  const { told, ...others } = stored;
  return { ...others, reportedFailure: told };
}
