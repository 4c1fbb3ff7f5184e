import type { Command } from 'commander';
import { valueOption, wholeNumber } from '../../command/command.ts';
import type { Host } from '../../command/host.ts';
import { FORMATS_WITHOUT_NAME } from '../../command/output.ts';
import { calling, callsApi } from '../call.ts';
import type { EventOptions } from './events.ts';

/** `berth events`. */

export function buildEvents(made: Command, host: Host): void {
  callsApi(made, FORMATS_WITHOUT_NAME)
    .argument('[deployment]', 'id or name of the deployment; default: all events of the tenant')
    .addOption(valueOption('--reason <reason>', 'only events with this reason, such as RolledBack'))
    .addOption(valueOption('--since <time>', 'ISO 8601, or a duration: 30s, 10m, 3h, 2d'))
    .addOption(valueOption('--until <time>', 'ISO 8601, or a duration'))
    .addOption(
      valueOption('--limit <n>', 'number of the newest events', wholeNumber('--limit', 1)).default(100),
    )
    .action(
      calling(host, async (context, name: string | undefined, options: EventOptions) => {
        const { events } = await import('./events.ts');
        return events(context, name, options);
      }),
    );
}
