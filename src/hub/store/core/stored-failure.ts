import type { FailureSource } from '../../../domain/conditions/failure-source.ts';

/**
 * Failures in JSON columns. The database keeps the earlier name of failureSource, `culprit`, so that the previous
 * version can read the data that this version writes (decision 0032).
 */

interface WithSource {
  readonly failureSource?: FailureSource | undefined;
}

/** A failure as stored in the database. */
export type Stored<Failure extends WithSource> = Omit<Failure, 'failureSource'> & {
  readonly culprit?: FailureSource | undefined;
};

export function toStored<Failure extends WithSource>({
  failureSource,
  ...failure
}: Failure): Stored<Failure> {
  return failureSource === undefined ? failure : { ...failure, culprit: failureSource };
}

export function fromStored<Failure extends WithSource>({ culprit, ...failure }: Stored<Failure>): Failure {
  const renamed: unknown = culprit === undefined ? failure : { ...failure, failureSource: culprit };
  return renamed as Failure;
}
