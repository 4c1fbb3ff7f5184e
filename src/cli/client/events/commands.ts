import type { Command } from 'commander';
import { describe, valueOption, wholeNumber } from '../../command/command.ts';
import type { Host } from '../../command/host.ts';
import { FORMATS_WITHOUT_NAME } from '../../command/output.ts';
import { calling, callsApi } from '../call.ts';
import type { EventOptions } from './events.ts';

/** `berth events`. */

const DETAILS = `With --follow, the command prints the newest events and then new ones, until it is interrupted. It continues after a short
outage of the API without loss or duplicate. With -o json, each event is then one line.`;

export function buildEvents(made: Command, host: Host): void {
  describe(made, DETAILS);
  callsApi(made, FORMATS_WITHOUT_NAME)
    .argument('[deployment]', 'id or name of the deployment; default: all events of the tenant')
    .addOption(valueOption('--reason <reason>', 'only events with this reason, such as RolledBack'))
    .addOption(valueOption('--since <time>', 'ISO 8601, or a duration: 30s, 10m, 3h, 2d'))
    .addOption(valueOption('--until <time>', 'ISO 8601, or a duration'))
    .addOption(
      valueOption('--limit <n>', 'number of the newest events', wholeNumber('--limit', 1)).default(100),
    )
    .option('--follow', 'continue with new events', false)
    .action(
      calling(host, async (context, name: string | undefined, options: EventOptions) => {
        if (options.follow) return (await import('./follow.ts')).follow(context, name, options);
        return (await import('./events.ts')).events(context, name, options);
      }),
    );
}
