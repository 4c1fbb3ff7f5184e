import type { Command } from 'commander';
import { describe, valueOption, wholeNumber } from '../../command/command.ts';
import type { Host } from '../../command/host.ts';
import { DEPLOYMENT } from '../arguments.ts';
import { apiCommand, calling, callsApi } from '../call.ts';
import { choicesOf } from '../choices.ts';
import type { RunOptions } from './run.ts';

/** `berth run`, `berth tasks`. */

const RUN = `Runs a command once in a new pod, with image, environment and secrets of the deployment. Prints its output, and ends with its
exit code: 124 if it timed out, 125 if it did not start or was cancelled. Ctrl-C cancels the task. Options of berth come before the
deployment, and the command follows after --:

  berth run shop -- ./manage migrate
  berth run --component queue shop -- sh -c 'echo $HOSTNAME'`;

const COMPONENTS = choicesOf<NonNullable<RunOptions['component']>>({
  api: true,
  queue: true,
  orchestrator: true,
  executor: true,
});
/** Maximum of the API. */
const MAX_SECONDS = 86_400;

export function buildRun(made: Command, host: Host): void {
  describe(made, RUN);
  callsApi(made, ['table', 'json'])
    .argument(...DEPLOYMENT)
    .argument('<command...>', 'program and arguments, after --')
    .addOption(valueOption('--component <name>', 'component to run as; default: api').choices(COMPONENTS))
    .addOption(
      valueOption('--revision <revision>', 'revision to run: an id or a number; default: the active one'),
    )
    .addOption(
      valueOption(
        '--timeout <seconds>',
        'time after which the command is ended; default: 3600',
        wholeNumber('--timeout', 1, MAX_SECONDS),
      ),
    )
    .option('--detach', 'print the task and do not wait for its end', false)
    .action(
      calling(host, async (context, name: string, words: string[], options: RunOptions) =>
        (await import('./run.ts')).runCommand(context, name, words, options),
      ),
    );
}

export function buildTasks(made: Command, host: Host): void {
  describe(made, 'Tasks are commands that run once in a pod of their own. berth run starts one.');
  made.addCommand(
    apiCommand('list', 'list the tasks of a deployment, newest first')
      .argument(...DEPLOYMENT)
      .action(
        calling(host, async (context, name: string) => (await import('./tasks.ts')).listTasks(context, name)),
      ),
  );
  const one = (name: string, summary: string) =>
    apiCommand(name, summary)
      .argument(...DEPLOYMENT)
      .argument('<task>', 'id or name of the task');
  made.addCommand(
    one('get', 'show one task').action(
      calling(host, async (context, name: string, task: string) =>
        (await import('./tasks.ts')).getTask(context, name, task),
      ),
    ),
  );
  made.addCommand(
    one('logs', 'print the output of a task').action(
      calling(host, async (context, name: string, task: string) =>
        (await import('./tasks.ts')).printLogs(context, name, task),
      ),
    ),
  );
  made.addCommand(
    one('cancel', 'cancel a task').action(
      calling(host, async (context, name: string, task: string) =>
        (await import('./tasks.ts')).cancelTask(context, name, task),
      ),
    ),
  );
}
