import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Task } from '../api/types.ts';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { useDeployment } from '../deployment/deployment-context.ts';
import { Section } from '../deployment/section.tsx';
import { StaleNotice } from '../live/stale-notice.tsx';
import { useFreshness } from '../live/use-freshness.ts';
import { useScope } from '../session/use-scope.ts';
import { useTenantApi } from '../shell/tenant-context.ts';
import { Empty } from '../ui/empty.tsx';
import fields from '../ui/fields/fields.module.css';
import { Loading } from '../ui/loading.tsx';
import { StateMark } from '../ui/mark.tsx';
import { MoreButton } from '../ui/more-button.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import { ScrollTable } from '../ui/scroll-table.tsx';
import { Time } from '../ui/time.tsx';
import { tasksQuery } from './queries.ts';
import { RunCommand } from './run-command.tsx';
import { SchedulesSection } from './schedules-section.tsx';
import { Author, ShortCommand } from './task-parts.tsx';
import { markOf, reasonOf } from './task-state.ts';

const COLUMNS = ['Command', 'State', 'Reason', 'Component', 'Origin', 'Started', 'Exit code', 'Who'];

function Row({ task, isStale }: { readonly task: Task; readonly isStale: boolean }) {
  const { tenant_id: tenantId, id: deploymentId } = useDeployment().deployment;
  const { started_at: startedAt } = task;
  return (
    <tr>
      <th scope="row">
        <Link
          to="/t/$tenantId/deployments/$deploymentId/tasks/$taskId"
          params={{ tenantId, deploymentId, taskId: task.id }}
        >
          <ShortCommand command={task.command} />
        </Link>
      </th>
      <td>
        <StateMark {...markOf(task.state, isStale)} />
      </td>
      <td>{reasonOf(task) ?? '–'}</td>
      <td>{task.component}</td>
      <td>{task.origin}</td>
      <td>{startedAt === null ? '–' : <Time at={startedAt} />}</td>
      <td>{task.exit_code ?? '–'}</td>
      <td>
        <Author created_by={task.created_by} />
      </td>
    </tr>
  );
}

/** The tasks of a deployment, newest first. */
function TasksSection() {
  const { id, name, tenant_id: tenantId } = useDeployment().deployment;
  const query = useInfiniteQuery(tasksQuery(useTenantApi(), id));
  const freshness = useFreshness(query);
  const mayRun = useScope('tasks:run');
  const tasks = query.data?.pages.flatMap(({ resources }) => resources) ?? [];
  return (
    <Section
      id="tasks"
      title="Tasks"
      command={
        <div className={fields['row']}>
          {mayRun && <RunCommand />}
          <ShowCommand
            title="List the tasks"
            request={{ path: `/v2/deployments/${id}/tasks`, tenantId }}
            berth={commandLine('berth', 'tasks', 'list', name)}
          />
        </div>
      }
    >
      {query.isPending && <Loading what="the tasks" />}
      {query.error !== null && <ProblemNotice error={query.error} onRetry={() => void query.refetch()} />}
      <StaleNotice freshness={freshness} />
      {query.data !== undefined && tasks.length === 0 && <Empty title="No command was run yet" />}
      {tasks.length > 0 && (
        <ScrollTable label="Tasks" columns={COLUMNS}>
          {tasks.map((task) => (
            <Row key={task.id} task={task} isStale={freshness.isStale} />
          ))}
        </ScrollTable>
      )}
      <MoreButton query={query} text="Show older tasks" />
    </Section>
  );
}

/** What runs besides the components of a deployment. */
export const TasksTab = () => (
  <>
    <SchedulesSection />
    <TasksSection />
  </>
);
