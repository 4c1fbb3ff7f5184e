import type { Command } from 'commander';
import { describe, valueOption, wholeNumber } from '../../command/command.ts';
import type { Host } from '../../command/host.ts';
import { FORMATS_WITHOUT_NAME } from '../../command/output.ts';
import { sinceOption, untilOption } from '../../command/time-options.ts';
import { UsageError } from '../../command/usage-error.ts';
import { calling, callsApi } from '../call.ts';
import type { EventOptions } from './events.ts';

/** `berth events`. */

/** Maximum number of stored events with which a stream of the API can begin, if the number is limited. */
const MAX_BEFORE_STREAM = 100;

const DETAILS = `Without --limit, the command prints the newest 100 events, and says so if there are more. With --follow, the command prints
stored events and then new ones, until it is interrupted or --until is reached. The stored events are the newest 100, or with
--since all events since then. The command continues after a short outage of the API without loss or duplicate. With -o
json, each event is then one line.`;

/** @throws UsageError */
function checkOptions({ follow, limit = 0 }: EventOptions): void {
  if (follow && limit > MAX_BEFORE_STREAM)
    throw new UsageError(
      `--limit must be at most ${MAX_BEFORE_STREAM} with --follow: use --since without --limit to begin with older events`,
    );
}

export function buildEvents(made: Command, host: Host): void {
  describe(made, DETAILS);
  callsApi(made, FORMATS_WITHOUT_NAME)
    .argument('[deployment]', 'id or name of the deployment; default: all events of the tenant')
    .addOption(valueOption('--reason <reason>', 'only events with this reason, such as RolledBack'))
    .addOption(sinceOption())
    .addOption(untilOption())
    .addOption(
      valueOption('--limit <n>', 'number of the newest events, default: 100', wholeNumber('--limit', 1)),
    )
    .option('--follow', 'continue with new events', false)
    .action(
      calling(host, async (context, name: string | undefined, options: EventOptions) => {
        checkOptions(options);
        if (options.follow) return (await import('./follow.ts')).follow(context, name, options);
        return (await import('./events.ts')).events(context, name, options);
      }),
    );
}
