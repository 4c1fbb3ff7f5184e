/** Commands for API users. */
export const CLIENT_COMMANDS: ReadonlySet<string> = new Set(['deployments', 'revisions', 'logs']);
