import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Schedule, Task } from '../api/types.ts';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { useDeployment } from '../deployment/deployment-context.ts';
import { Section } from '../deployment/section.tsx';
import { useFreshness } from '../live/use-freshness.ts';
import { useScope } from '../session/use-scope.ts';
import { useTenantApi } from '../shell/tenant-context.ts';
import { Empty } from '../ui/empty.tsx';
import fields from '../ui/fields/fields.module.css';
import { Mark, StateMark } from '../ui/mark.tsx';
import { ScrollTable } from '../ui/scroll-table.tsx';
import { Time } from '../ui/time.tsx';
import { tasksQuery } from './queries.ts';
import { RunNow, Suspension } from './schedule-actions.tsx';
import { isSuspended, lastRuns } from './schedules.ts';
import { ShortCommand } from './task-parts.tsx';
import { markOf } from './task-state.ts';

const COLUMNS = ['Name', 'Schedule', 'Time zone', 'Starts runs', 'Concurrency', 'Last run', 'Command'];

interface LastRunProps {
  /** undefined: the loaded tasks have none. */
  readonly run: Task | undefined;
  /** Whether the loaded tasks are all tasks. */
  readonly isComplete: boolean;
  readonly isStale: boolean;
}

function LastRun({ run, isComplete, isStale }: LastRunProps) {
  const { tenant_id: tenantId, id: deploymentId } = useDeployment().deployment;
  if (run === undefined) return isComplete ? 'none is stored' : 'not among the newest tasks';
  return (
    <>
      <StateMark {...markOf(run.state, isStale)} />{' '}
      <Link
        to="/t/$tenantId/deployments/$deploymentId/tasks/$taskId"
        params={{ tenantId, deploymentId, taskId: run.id }}
      >
        <Time at={run.started_at ?? run.created_at} />
      </Link>
    </>
  );
}

interface RowProps extends LastRunProps {
  readonly schedule: Schedule;
  readonly mayRun: boolean;
  readonly mayWrite: boolean;
}

function Row({ schedule, mayRun, mayWrite, ...last }: RowProps) {
  return (
    <tr>
      <th scope="row">{schedule.name}</th>
      <td>{schedule.schedule}</td>
      <td>{schedule.time_zone ?? 'Etc/UTC'}</td>
      <td>
        {isSuspended(schedule) ? <Mark tone="off" text="suspended" /> : <Mark tone="good" text="yes" />}
      </td>
      <td>{schedule.concurrency ?? 'forbid'}</td>
      <td>
        <LastRun {...last} />
      </td>
      <td>
        <ShortCommand command={schedule.command} />
      </td>
      {(mayRun || mayWrite) && (
        <td>
          <div className={fields['row']}>
            {mayRun && <RunNow schedule={schedule} />}
            {mayWrite && <Suspension schedule={schedule} />}
          </div>
        </td>
      )}
    </tr>
  );
}

/** The schedules of a deployment, with the last run of each. */
export function SchedulesSection() {
  const { id, name, tenant_id: tenantId, source_config: config } = useDeployment().deployment;
  const query = useInfiniteQuery(tasksQuery(useTenantApi(), id));
  const { isStale } = useFreshness(query);
  const [mayRun, mayWrite] = [useScope('tasks:run'), useScope('deployments:write')];
  const schedules = config.schedules ?? [];
  const runs = lastRuns(query.data?.pages.flatMap(({ resources }) => resources) ?? []);
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
      {schedules.length === 0 && (
        <Empty title="This deployment has no schedules">
          <p>The page Edit has them in source_config.schedules.</p>
        </Empty>
      )}
      {schedules.length > 0 && (
        <ScrollTable label="Schedules" columns={mayRun || mayWrite ? [...COLUMNS, 'Actions'] : COLUMNS}>
          {schedules.map((schedule) => (
            <Row
              key={schedule.name}
              schedule={schedule}
              run={runs.get(schedule.name)}
              isComplete={query.data !== undefined && !query.hasNextPage}
              isStale={isStale}
              mayRun={mayRun}
              mayWrite={mayWrite}
            />
          ))}
        </ScrollTable>
      )}
    </Section>
  );
}
