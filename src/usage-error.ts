/** The words of a command cannot be taken; the message says why. */
export class UsageError extends Error {}
