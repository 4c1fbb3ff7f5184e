import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Schedule, Task } from '../api/types.ts';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { useDeployment } from '../deployment/deployment-context.ts';
import { Section } from '../deployment/section.tsx';
import { useScope } from '../session/use-scope.ts';
import { useTenantApi } from '../shell/tenant-context.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { StateMark } from '../ui/mark.tsx';
import { ScrollTable } from '../ui/scroll-table.tsx';
import { Time } from '../ui/time.tsx';
import { runSchedule } from './queries.ts';
import { ShortCommand } from './task-parts.tsx';
import { lastRun, markOf, timesOf } from './task-state.ts';
import { useTaskAction } from './use-task-action.ts';

const COLUMNS = ['Schedule', 'Times', 'Command', 'Component', 'Last run', 'Started', 'Action'];

function RunNow({ schedule }: { readonly schedule: Schedule }) {
  const { id, name } = useDeployment().deployment;
  const api = useTenantApi();
  // The same request again must not run the command twice.
  const [key, setKey] = useState(() => crypto.randomUUID());
  const run = useTaskAction(id, () => runSchedule(api, id, schedule.name, key));
  const path = `/v2/deployments/${id}/schedules/${schedule.name}/run`;
  return (
    <ActionDialog
      opens="Run now"
      of={schedule.name}
      title={`Run the schedule ${schedule.name} now`}
      acts="Run"
      action={run}
      onClose={() => setKey(crypto.randomUUID())}
      command={
        <ShowCommand
          title="Run this schedule"
          request={{ method: 'POST', path, tenantId: api.tenantId, body: {} }}
          berth={commandLine('berth', 'schedules', 'run', name, schedule.name)}
        />
      }
    >
      <p>The command runs once, in the active revision. The times of the schedule do not change.</p>
    </ActionDialog>
  );
}

interface RowProps {
  readonly schedule: Schedule;
  readonly run: Task | undefined;
  /** Whether the tasks may have changed since they were requested. */
  readonly isStale: boolean;
}

function Row({ schedule, run, isStale }: RowProps) {
  const { id: deploymentId, tenant_id: tenantId } = useDeployment().deployment;
  const mayRun = useScope('tasks:run');
  return (
    <tr>
      <th scope="row">
        <bdi>{schedule.name}</bdi>
      </th>
      <td>
        <bdi>{timesOf(schedule)}</bdi>
      </td>
      <td>
        <ShortCommand command={schedule.command} />
      </td>
      <td>{schedule.component ?? 'api'}</td>
      <td>
        {run === undefined ? (
          'none among the tasks below'
        ) : (
          <Link
            to="/t/$tenantId/deployments/$deploymentId/tasks/$taskId"
            params={{ tenantId, deploymentId, taskId: run.id }}
          >
            <StateMark {...markOf(run.state, isStale)} />
          </Link>
        )}
      </td>
      <td>{run?.started_at == null ? '–' : <Time at={run.started_at} />}</td>
      <td>{mayRun && <RunNow schedule={schedule} />}</td>
    </tr>
  );
}

interface SchedulesSectionProps {
  /** The loaded tasks, newest first. */
  readonly tasks: readonly Task[];
  readonly isStale: boolean;
}

/** The schedules of a deployment. Absent if it has none. */
export function SchedulesSection({ tasks, isStale }: SchedulesSectionProps) {
  const { id, name, tenant_id: tenantId, source_config: config } = useDeployment().deployment;
  const schedules = config.schedules ?? [];
  if (schedules.length === 0) return null;
  return (
    <Section
      id="schedules"
      title="Schedules"
      command={
        <ShowCommand
          title="List the schedules"
          request={{ path: `/v2/deployments/${id}`, tenantId }}
          berth={commandLine('berth', 'schedules', 'list', name)}
        />
      }
    >
      <p>
        A change of the deployment adds, suspends and removes schedules (source_config.schedules on the tab
        Edit).
      </p>
      <ScrollTable label="Schedules" columns={COLUMNS}>
        {schedules.map((schedule) => (
          <Row
            key={schedule.name}
            schedule={schedule}
            run={lastRun(tasks, schedule.name)}
            isStale={isStale}
          />
        ))}
      </ScrollTable>
    </Section>
  );
}
