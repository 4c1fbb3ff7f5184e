/** Why a request body is refused: one field, one reason. */
export interface BodyIssue {
  /** Path below the body. */
  readonly loc: readonly (string | number)[];
  /** A sentence for people. Holds no value of a secret. */
  readonly msg: string;
  /** Name of the broken rule. */
  readonly type: string;
}

/** The same issues, below `prefix`. */
export function below(prefix: readonly (string | number)[], issues: readonly BodyIssue[]): BodyIssue[] {
  return issues.map((issue) => ({ ...issue, loc: [...prefix, ...issue.loc] }));
}
