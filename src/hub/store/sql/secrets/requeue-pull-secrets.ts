import { statement } from '../../core/statement.ts';
import { requeueWhere } from '../../listeners/requeue-work.ts';

/** SQL: whether a deployment (alias `d`) has a repository in the registry and is not being deleted. */
export const WITH_REPOSITORY = `d.source IN ('git_host', 'internal_image') AND d.delete_requested_at IS NULL`;

/** Requeues every deployment with a repository. */
export const requeuePullSecretsStatement = statement<Record<never, never>, { due: number }>(
  'requeue_pull_secrets',
  requeueWhere(WITH_REPOSITORY),
);
