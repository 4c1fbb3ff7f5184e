/** Exit codes of the commands that call the API. Scripts depend on these exit codes. */
export const EXIT = { reached: 0, failed: 1, usage: 2, unknown: 3, interrupted: 130 } as const;

export const EXIT_HELP = `Exit codes: 0 success; 1 the API rejected the request, the deployment failed, or the timeout expired; 2 wrong usage;
3 unknown, because the API was not reachable or too busy; 130 interrupted.`;

/** How a wait ends. */
export type End = 'reached' | 'failed' | 'unknown';

/** How a command ends. */
export type Exit = End | 'usage';

/** The user has interrupted a prompt, or did not agree. */
export class Interrupted extends Error {
  constructor(message = 'interrupted') {
    super(message);
  }
}
