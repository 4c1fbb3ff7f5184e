import type { Revision, RevisionDryRun } from '../api.gen.ts';

/**
 * The revision that a request created.
 * @throws Error for the preview of a dry run
 */
export function createdRevision(answer: Revision | RevisionDryRun): Revision {
  if (!('id' in answer)) throw new Error('the hub returned a preview instead of a revision');
  return answer;
}

/**
 * The preview of a dry run.
 * @throws Error for a revision, because the API has ignored `dry_run`
 */
export function dryRunOf(answer: Revision | RevisionDryRun): RevisionDryRun {
  if ('id' in answer) throw new Error('the hub created a revision instead of a preview');
  return answer;
}
