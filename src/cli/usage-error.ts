/** The words of a command cannot be taken; the message says why. */
export class UsageError extends Error {
  /** 2: the words are wrong; 1: they are right, and what they name is not there. */
  readonly exitCode: 1 | 2;
  constructor(message: string, exitCode: 1 | 2 = 2) {
    super(message);
    this.exitCode = exitCode;
  }
}
