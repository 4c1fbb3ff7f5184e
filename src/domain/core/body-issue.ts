/** A problem of a request body: one field with one reason. */
export interface BodyIssue {
  /** Path below the body. */
  readonly loc: readonly (string | number)[];
  /** A message for people, without values of secrets. */
  readonly msg: string;
  /** Name of the broken rule. */
  readonly type: string;
}

/** The same issues with paths below `prefix`. */
export function below(prefix: readonly (string | number)[], issues: readonly BodyIssue[]): BodyIssue[] {
  return issues.map((issue) => ({ ...issue, loc: [...prefix, ...issue.loc] }));
}
