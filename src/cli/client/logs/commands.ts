import type { Command } from 'commander';
import { describe, valueOption, wholeNumber } from '../../command/command.ts';
import type { Host } from '../../command/host.ts';
import { sinceOption } from '../../command/time-options.ts';
import { UsageError } from '../../command/usage-error.ts';
import { DEPLOYMENT } from '../arguments.ts';
import { calling, callsApi } from '../call.ts';
import { choicesOf } from '../choices.ts';
import type { LogsOptions } from './logs.ts';

/** `berth logs`. */

const DETAILS = `Also prints the output of the database and the cache. Berth reads logs from the cluster, and keeps the lines only until they are sent. With
-o json, each line is an object.`;

/** Maximum of the API. */
const MAX_LINES = 10_000;

const COMPONENTS = choicesOf<NonNullable<LogsOptions['component']>>({
  api: true,
  queue: true,
  orchestrator: true,
  executor: true,
  database: true,
  cache: true,
});

export function buildLogs(made: Command, host: Host): void {
  describe(made, DETAILS);
  callsApi(made, ['table', 'json'])
    .argument(...DEPLOYMENT)
    .addOption(
      valueOption('--component <name>', 'only pods of this component; default: all').choices(COMPONENTS),
    )
    .addOption(valueOption('--revision <revision>', 'only pods of this revision: an id or a number'))
    .addOption(sinceOption())
    .addOption(
      valueOption(
        '--limit <lines>',
        'newest lines of each container, default: 500',
        wholeNumber('--limit', 1, MAX_LINES),
      ),
    )
    .option('--follow', 'continue with new lines', false)
    .option(
      '--previous',
      'output of the previous runs of restarted containers, to find out why one crashed',
      false,
    )
    .action(
      calling(host, async (context, name: string, options: LogsOptions) => {
        if (options.previous && options.follow)
          throw new UsageError(
            '--previous and --follow cannot be combined: a previous run prints no new lines',
          );
        const { logsCommand } = await import('./logs.ts');
        return logsCommand(context, name, options);
      }),
    );
}
