/** The words by which `berth` knows that it is called by an API user. */
export const CLIENT_COMMANDS: ReadonlySet<string> = new Set(['deployments', 'revisions', 'logs']);
