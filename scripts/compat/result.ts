/** The result of the tests on one version. */
export interface CompatResult {
  /** What ran, and how it ended. */
  readonly line: string;
  readonly passed: boolean;
}
