import type { Revision, RevisionDryRun } from '../api.gen.ts';

/**
 * The revision that a request created.
 * @throws Error for the preview of a dry run, which the command line does not request
 */
export function createdRevision(answer: Revision | RevisionDryRun): Revision {
  if (!('id' in answer)) throw new Error('the hub returned a preview instead of a revision');
  return answer;
}
