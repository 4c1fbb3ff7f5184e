import type { Command } from 'commander';
import { describe } from '../../command/command.ts';
import type { Host } from '../../command/host.ts';
import { calling, callsApi } from '../call.ts';

/** `berth watch`. */

const DETAILS = `Prints a line when a deployment has changed, until the command is interrupted: its id and its generation. The line says that
something has changed, and not what. A line "reset" means that changes may be missing, so a program must read everything again.
With -o json, each line is an object. berth events --follow prints what happens.`;

export function buildWatch(made: Command, host: Host): void {
  describe(made, DETAILS);
  callsApi(made, ['table', 'json']).action(
    calling(host, async (context) => (await import('./watch-changes.ts')).watchChanges(context)),
  );
}
