import { statement } from '../../core/statement.ts';
import { requeueWhere } from '../../listeners/requeue-work.ts';
import { DESIRED_REVISION, leavesEnvironment } from '../fragments/desired-revision.ts';

/** Requeues the deployments that have environments to remove. */
export const requeueLeftoversStatement = statement<{ deploymentIds: readonly string[] }, { due: number }>(
  'requeue_leftovers',
  requeueWhere(`d.id = ANY(:deploymentIds::uuid[]) AND EXISTS (
  SELECT FROM revisions w, revisions r WHERE w.deployment_id = d.id AND w.id = ${DESIRED_REVISION} AND ${leavesEnvironment('w.number')})`),
);
