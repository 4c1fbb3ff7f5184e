import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { deploymentKey } from '../api/keys.ts';
import type { Schedule } from '../api/types.ts';
import { changeCommand } from '../change/commands.ts';
import { applyChange } from '../change/requests.ts';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { useDeployment } from '../deployment/deployment-context.ts';
import { useTenantApi } from '../shell/tenant-context.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { isolated } from '../ui/isolated.ts';
import { runSchedule } from './queries.ts';
import { isSuspended, suspensionPatch } from './schedules.ts';
import { useTaskAction } from './use-task-action.ts';

interface ScheduleProps {
  readonly schedule: Schedule;
}

/** Runs the command of a schedule at once, and opens its task. */
export function RunNow({ schedule: { name } }: ScheduleProps) {
  const { id, name: deployment } = useDeployment().deployment;
  const api = useTenantApi();
  // A repeated request, whose first answer was lost, runs the command once.
  const [key, setKey] = useState(() => crypto.randomUUID());
  const run = useTaskAction(id, () => runSchedule(api, id, name, key));
  const path = `/v2/deployments/${id}/schedules/${encodeURIComponent(name)}/run`;
  return (
    <ActionDialog
      opens="Run now"
      of={name}
      title={`Run the schedule ${isolated(name)} now`}
      acts="Run now"
      action={run}
      onClose={() => setKey(crypto.randomUUID())}
      command={
        <ShowCommand
          title="Run the schedule now"
          request={{ method: 'POST', path, tenantId: api.tenantId, body: {} }}
          berth={commandLine('berth', 'schedules', 'run', deployment, name)}
        />
      }
    >
      <p>
        The command runs once, in the active revision, also if the schedule is suspended. If a run has not
        ended, this is rejected, unless the concurrency is allow.
      </p>
    </ActionDialog>
  );
}

/** Suspends or resumes a schedule. Pods are not touched. */
export function Suspension({ schedule }: ScheduleProps) {
  const { deployment } = useDeployment();
  const api = useTenantApi();
  const client = useQueryClient();
  const { name } = schedule;
  // A second attempt must not do the opposite, when the first one was carried out and its answer was lost.
  const [chosen, setChosen] = useState<boolean | null>(null);
  const suspends = chosen ?? !isSuspended(schedule);
  const patch = suspensionPatch(deployment, name, suspends);
  // Also after an error: someone else may have changed the deployment, which the page then shows.
  const requestDeployment = () =>
    void client.invalidateQueries({ queryKey: deploymentKey(api.tenantId, deployment.id), exact: true });
  const action = useMutation({
    mutationFn: () => applyChange(api, deployment, patch),
    onSettled: requestDeployment,
  });
  const word = suspends ? 'Suspend' : 'Resume';
  return (
    <ActionDialog
      opens={word}
      of={name}
      title={`${word} the schedule ${isolated(name)}`}
      acts={word}
      action={action}
      onOpen={() => setChosen(!isSuspended(schedule))}
      onClose={() => setChosen(null)}
      command={<ShowCommand title={`${word} the schedule`} {...changeCommand(deployment, patch)} />}
    >
      <p>
        {suspends
          ? 'The schedule starts no more runs. A run that is active continues.'
          : 'The schedule starts runs again at its times.'}{' '}
        No pods are replaced.
      </p>
    </ActionDialog>
  );
}
