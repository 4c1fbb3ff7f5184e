import type { Command } from 'commander';
import { describe, valueOption } from '../../command/command.ts';
import type { Host } from '../../command/host.ts';
import { DEPLOYMENT } from '../arguments.ts';
import { apiCommand, calling } from '../call.ts';
import { EXIT_HELP } from '../exit-codes.ts';
import { takesWait, type WaitOptions } from '../wait.ts';

/** `berth env …`. */

const env = () => import('./env.ts');

const SET = `Everyone who can read the deployment can read its variables. Use berth secrets for passwords and keys. A name cannot be
a variable and a secret. All other variables of the deployment stay as they are. A difference creates a new revision. A value
can refer to variables that Berth sets, such as $(DATABASE_URI), and to earlier variables. New variables are added at the end of the list. The command
prints all variables, and notes references to later ones.

  berth env set shop LOG_LEVEL=debug 'DATABASE_URL=$(DATABASE_URI)'
  berth env set shop --from-file .env`;

const set = (host: Host) =>
  takesWait(
    apiCommand('set', 'add variables, or give them other values', { details: SET })
      .argument(...DEPLOYMENT)
      .argument('[variables...]', 'KEY=VALUE')
      .addOption(valueOption('--from-file <file>', '.env file with lines KEY=VALUE; - is standard input')),
  ).action(
    calling(
      host,
      async (context, name: string, words: string[], options: WaitOptions & { fromFile?: string }) =>
        (await env()).set(context, name, words, options),
    ),
  );

const unset = (host: Host) =>
  takesWait(
    apiCommand('unset', 'remove variables', {
      details:
        'A difference creates a new revision. A rollback to an older revision also restores its variables.',
    })
      .argument(...DEPLOYMENT)
      .argument('<names...>', 'names of the variables'),
  ).action(
    calling(host, async (context, name: string, names: string[], options: WaitOptions) =>
      (await env()).unset(context, name, names, options),
    ),
  );

export function buildEnv(made: Command, host: Host): void {
  describe(made, EXIT_HELP)
    .addCommand(
      apiCommand('list', 'list the variables with their values')
        .argument(...DEPLOYMENT)
        .action(calling(host, async (context, name: string) => (await env()).list(context, name))),
    )
    .addCommand(set(host))
    .addCommand(unset(host));
}
