import type { Command } from 'commander';
import { describe, valueOption } from '../../command/command.ts';
import type { Host } from '../../command/host.ts';
import { DEPLOYMENT } from '../arguments.ts';
import { apiCommand, calling } from '../call.ts';
import { EXIT_HELP } from '../exit-codes.ts';
import { takesWait, type WaitOptions } from '../wait.ts';

/** `berth secrets …`. */

const secrets = () => import('./secrets.ts');

const SET = `The value of KEY is read from a prompt without echo, or from standard input without its last line break. Every user
of the machine can read the command line, so use KEY=VALUE only for values that are no secret. All other secrets of the
deployment stay as they are. A difference creates a new revision. The command prints the names of all secrets.

  berth secrets set shop TOKEN
  berth secrets set shop TLS_KEY < tls.key
  berth secrets set shop --from-file .env`;

const set = (host: Host) =>
  takesWait(
    apiCommand('set', 'add secrets, or give them other values', { details: SET })
      .argument(...DEPLOYMENT)
      .argument('[keys...]', 'KEY, or KEY=VALUE')
      .addOption(valueOption('--from-file <file>', '.env file with lines KEY=VALUE; - is standard input')),
  ).action(
    calling(
      host,
      async (context, name: string, keys: string[], options: WaitOptions & { fromFile?: string }) =>
        (await secrets()).set(context, name, keys, options),
    ),
  );

const unset = (host: Host) =>
  takesWait(
    apiCommand('unset', 'remove secrets', {
      details:
        'A difference creates a new revision. A rollback to an older revision also restores its secrets.',
    })
      .argument(...DEPLOYMENT)
      .argument('<keys...>', 'names of the secrets'),
  ).action(
    calling(host, async (context, name: string, keys: string[], options: WaitOptions) =>
      (await secrets()).unset(context, name, keys, options),
    ),
  );

export function buildSecrets(made: Command, host: Host): void {
  describe(made, EXIT_HELP)
    .addCommand(
      apiCommand('list', 'list the names of the secrets, without values')
        .argument(...DEPLOYMENT)
        .action(calling(host, async (context, name: string) => (await secrets()).list(context, name))),
    )
    .addCommand(set(host))
    .addCommand(unset(host));
}
