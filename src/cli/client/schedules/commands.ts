import type { Command } from 'commander';
import { describe } from '../../command/command.ts';
import type { Host } from '../../command/host.ts';
import { DEPLOYMENT } from '../arguments.ts';
import { apiCommand, calling } from '../call.ts';
import type { RunScheduleOptions } from './schedules.ts';

/** `berth schedules`. */

const SCHEDULES = `Schedules run a command at fixed times. They are source_config.schedules of a deployment: berth apply and berth deployments
update change them. Each run is a task.`;

const RUN = `run a schedule now, print its output and end with its exit code`;

export function buildSchedules(made: Command, host: Host): void {
  describe(made, SCHEDULES);
  made.addCommand(
    apiCommand('list', 'list the schedules of a deployment, with the last run of each')
      .argument(...DEPLOYMENT)
      .action(
        calling(host, async (context, name: string) =>
          (await import('./schedules.ts')).listSchedules(context, name),
        ),
      ),
  );
  made.addCommand(
    apiCommand('run', RUN)
      .argument(...DEPLOYMENT)
      .argument('<schedule>', 'name of the schedule')
      .option('--detach', 'print the task and do not wait for its end', false)
      .action(
        calling(host, async (context, name: string, schedule: string, options: RunScheduleOptions) =>
          (await import('./schedules.ts')).runSchedule(context, name, schedule, options),
        ),
      ),
  );
}
