import type { Deployment } from '../api/types.ts';

/** Parts of requests, for the requests and for the commands that do the same. */

/** The condition that the deployment is still as it was shown. */
export const ifMatch = ({ generation }: Deployment) => ({ 'If-Match': `"${generation}"` });

export interface DeleteOptions {
  readonly deletesTracingProject: boolean;
  readonly keepsWorkloads: boolean;
  readonly isForced: boolean;
}

/** The query of a deletion. */
export const deletionQuery = ({ deletesTracingProject, keepsWorkloads, isForced }: DeleteOptions) => ({
  ...(deletesTracingProject ? { delete_tracing_project: true } : {}),
  ...(keepsWorkloads ? { keep_workloads: true } : {}),
  ...(isForced ? { force: true } : {}),
});
