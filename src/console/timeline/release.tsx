import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Revision } from '../api/types.ts';
import { useFreshness } from '../live/use-freshness.ts';
import { useTenantApi } from '../shell/tenant-context.ts';
import { tasksQuery } from '../tasks/queries.ts';
import { ShortCommand } from '../tasks/task-parts.tsx';
import { markOf, releaseOf } from '../tasks/task-state.ts';
import { StateMark } from '../ui/mark.tsx';

/** The release command of a revision, with its state and a link to its output. Absent if none was observed. */
export function Release({ revision }: { readonly revision: Revision }) {
  const api = useTenantApi();
  const { deployment_id: deploymentId } = revision;
  const query = useInfiniteQuery(tasksQuery(api, deploymentId));
  const { isStale } = useFreshness(query);
  const tasks = query.data?.pages.flatMap(({ resources }) => resources) ?? [];
  const release = releaseOf(tasks, revision.id);
  if (release === undefined) return null;
  const { exit_code: exitCode } = release;
  return (
    <p>
      Release command{' '}
      <Link
        to="/t/$tenantId/deployments/$deploymentId/tasks/$taskId"
        params={{ tenantId: api.tenantId, deploymentId, taskId: release.id }}
      >
        <ShortCommand command={release.command} />
      </Link>
      : <StateMark {...markOf(release.state, isStale)} />
      {exitCode !== null && exitCode !== 0 && `, exit code ${exitCode}`}
    </p>
  );
}
