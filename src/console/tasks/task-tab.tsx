import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { Task } from '../api/types.ts';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { useDeployment } from '../deployment/deployment-context.ts';
import { Section } from '../deployment/section.tsx';
import { shortId } from '../deployment/status.ts';
import { StaleNotice } from '../live/stale-notice.tsx';
import { useFreshness } from '../live/use-freshness.ts';
import { logCommand, logPath } from '../logs/log-filters.ts';
import { LogView } from '../logs/log-view.tsx';
import { useLog } from '../logs/use-log.ts';
import { useScope } from '../session/use-scope.ts';
import { useTenantApi } from '../shell/tenant-context.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { type Fact, Facts } from '../ui/facts.tsx';
import fields from '../ui/fields/fields.module.css';
import { Loading } from '../ui/loading.tsx';
import { LongText } from '../ui/long-text.tsx';
import { StateMark } from '../ui/mark.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import { Time } from '../ui/time.tsx';
import ui from '../ui/ui.module.css';
import { cancelTask, taskQuery } from './queries.ts';
import { Author } from './task-parts.tsx';
import { hasOutput, isFinal, markOf, reasonOf } from './task-state.ts';

interface TaskProps {
  readonly task: Task;
  /** Name of the deployment. */
  readonly name: string;
}

function CancelTask({ task, name }: TaskProps) {
  const api = useTenantApi();
  const action = useMutation({ mutationFn: () => cancelTask(api, task) });
  const path = `/v2/deployments/${task.deployment_id}/tasks/${task.id}/cancel`;
  return (
    <ActionDialog
      opens="Cancel"
      title="Cancel this task"
      acts="Cancel the task"
      isDanger
      action={action}
      command={
        <ShowCommand
          title="Cancel this task"
          request={{ method: 'POST', path, tenantId: api.tenantId, body: {} }}
          berth={commandLine('berth', 'tasks', 'cancel', name, task.id)}
        />
      }
    >
      <p>
        The command gets SIGTERM, and SIGKILL after the grace period of the component. The task is CANCELLED
        when its pod has ended, or SUCCEEDED if the command completes before.
      </p>
    </ActionDialog>
  );
}

function TaskFacts({ task, isStale }: { readonly task: Task; readonly isStale: boolean }) {
  const { revision_id: revisionId, revision_number: number, started_at: startedAt, ended_at: endedAt } = task;
  const facts: readonly Fact[] = [
    ['State', <StateMark key="state" {...markOf(task.state, isStale)} />],
    ['Reason', reasonOf(task)],
    ['Message', task.message && <LongText key="message" text={task.message} />],
    ['Exit code', task.exit_code],
    ['Component', task.component],
    ['Revision', number ?? (revisionId && shortId(revisionId)) ?? 'not known'],
    ['Origin', task.origin],
    ['Who', <Author key="who" created_by={task.created_by} />],
    ['Timeout', `${task.timeout_seconds} seconds`],
    ['CPU (cores)', task.cpu],
    ['Memory (MiB)', task.memory_mb],
    ['Requested', <Time key="requested" at={task.created_at} />],
    ['Started', startedAt === null ? 'not observed' : <Time key="started" at={startedAt} />],
    ['Ended', endedAt && <Time key="ended" at={endedAt} />],
    ['Name in the cluster', task.name],
  ];
  return <Facts facts={facts} />;
}

/** The output of a task, as it is printed. */
function Output({ task }: { readonly task: Task }) {
  const { tenantId } = useTenantApi();
  const { lines, state, restart } = useLog(tenantId, task.deployment_id, { task: task.id });
  return <LogView lines={lines} state={state} filters={{}} onRestart={restart} />;
}

function OutputSection({ task, name }: TaskProps) {
  const { tenantId } = useTenantApi();
  const request = { task: task.id };
  return (
    <Section
      id="output"
      title="Output"
      command={
        <ShowCommand
          title="Read the output"
          request={{ path: logPath(task.deployment_id, request), tenantId }}
          berth={logCommand(name, request)}
        />
      }
    >
      {hasOutput(task) ? (
        <Output task={task} />
      ) : (
        <p>
          {isFinal(task.state)
            ? 'The command was not observed to start, so it has no output.'
            : 'The output appears when the command has started.'}
        </p>
      )}
    </Section>
  );
}

/** One task with its output. */
export function TaskTab() {
  const { taskId } = useParams({ from: '/t/$tenantId/deployments/$deploymentId/tasks/$taskId' });
  const { deployment } = useDeployment();
  const { id: deploymentId, name, tenant_id: tenantId } = deployment;
  const query = useQuery(taskQuery(useTenantApi(), deploymentId, taskId));
  const freshness = useFreshness(query);
  const mayRun = useScope('tasks:run');
  const { data: task, error } = query;
  const canCancel = mayRun && task !== undefined && !isFinal(task.state) && !task.cancel_requested;
  return (
    <>
      <Section
        id="task"
        title="Task"
        command={
          <div className={fields['row']}>
            {canCancel && <CancelTask task={task} name={name} />}
            <ShowCommand
              title="Show this task"
              request={{ path: `/v2/deployments/${deploymentId}/tasks/${taskId}`, tenantId }}
              berth={commandLine('berth', 'tasks', 'get', name, taskId)}
            />
          </div>
        }
      >
        <p>
          <Link to="/t/$tenantId/deployments/$deploymentId/tasks" params={{ tenantId, deploymentId }}>
            All tasks of the deployment
          </Link>
        </p>
        {query.isPending && <Loading what="the task" />}
        {error !== null && <ProblemNotice error={error} onRetry={() => void query.refetch()} />}
        <StaleNotice freshness={freshness} />
        {task !== undefined && (
          <>
            <pre className={ui['code']}>{commandLine(...task.command)}</pre>
            <TaskFacts task={task} isStale={freshness.isStale} />
          </>
        )}
      </Section>
      {task !== undefined && <OutputSection key={task.id} task={task} name={name} />}
    </>
  );
}
