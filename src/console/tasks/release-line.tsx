import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Revision, Task } from '../api/types.ts';
import { useDeployment } from '../deployment/deployment-context.ts';
import { useFreshness } from '../live/use-freshness.ts';
import { useTenantApi } from '../shell/tenant-context.ts';
import { isFinal } from '../timeline/steps.ts';
import { StateMark } from '../ui/mark.tsx';
import { POLL_MS, tasksQuery } from './queries.ts';
import { hasRelease, releaseTaskOf } from './release.ts';
import { markOf } from './task-state.ts';

function ReleaseTask({ task, isStale }: { readonly task: Task; readonly isStale: boolean }) {
  const { id: deploymentId, tenant_id: tenantId } = useDeployment().deployment;
  return (
    <>
      <StateMark {...markOf(task.state, isStale)} />
      {task.exit_code !== null && `, exit code ${task.exit_code}`}.{' '}
      <Link
        to="/t/$tenantId/deployments/$deploymentId/tasks/$taskId"
        params={{ tenantId, deploymentId, taskId: task.id }}
      >
        Output of the release command of revision {task.revision_number}
      </Link>
    </>
  );
}

function ReleaseState({ revision }: { readonly revision: Revision }) {
  const hasEnded = isFinal(revision.status);
  const options = tasksQuery(useTenantApi(), useDeployment().deployment.id);
  const query = useInfiniteQuery({
    ...options,
    // The stream of changes does not report that the operator has created the task.
    refetchInterval: hasEnded ? options.refetchInterval : POLL_MS,
  });
  const { isStale } = useFreshness(query);
  if (query.data === undefined)
    return query.isPending ? 'requesting its task.' : 'its task cannot be requested.';
  const task = releaseTaskOf(
    query.data.pages.flatMap(({ resources }) => resources),
    revision,
  );
  if (task !== null) return <ReleaseTask task={task} isStale={isStale} />;
  return hasEnded ? 'its task is not among the newest tasks.' : 'has not started.';
}

/** How far the release command of a revision is. The message of a revision that failed has its last lines. */
export const ReleaseLine = ({ revision }: { readonly revision: Revision }) =>
  hasRelease(revision) && (
    <p>
      Release command: <ReleaseState revision={revision} />
    </p>
  );
