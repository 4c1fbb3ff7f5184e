/** The argument of commands for one deployment. */
export const DEPLOYMENT = ['<deployment>', 'id or name of the deployment'] as const;
