/** The arguments of a command are wrong. The message states the reason. */
export class UsageError extends Error {
  /** 2: the arguments are invalid. 1: the arguments are valid, but name an object that does not exist. */
  readonly exitCode: 1 | 2;
  /** The command whose help describes the arguments. null: the command that runs. */
  readonly page: string | null;
  constructor(message: string, exitCode: 1 | 2 = 2, page: string | null = null) {
    super(message);
    this.name = 'UsageError';
    this.exitCode = exitCode;
    this.page = page;
  }
}
