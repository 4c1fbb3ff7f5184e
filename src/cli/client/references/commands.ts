import type { Command } from 'commander';
import { describe } from '../../command/command.ts';
import type { Host } from '../../command/host.ts';
import { DEPLOYMENT } from '../arguments.ts';
import { apiCommand, calling } from '../call.ts';
import { EXIT_HELP } from '../exit-codes.ts';
import { takesWait, type WaitOptions } from '../wait.ts';

/** `berth references …`. */

const references = () => import('./references.ts');

const SET = `The Secrets exist in the namespace of the deployment. External Secrets, Sealed Secrets and Vault create such Secrets. The
values never reach Berth, and a changed value replaces the pods once. A name cannot also be a secret or a variable. All other
references of the deployment stay as they are. A difference creates a new revision. The command prints all references.

  berth references set shop STRIPE_KEY=payments/api-key SMTP_PASSWORD=mail/password`;

const set = (host: Host) =>
  takesWait(
    apiCommand('set', 'add references, or let them name another Secret', { details: SET })
      .argument(...DEPLOYMENT)
      .argument('<references...>', 'VARIABLE=SECRET/KEY'),
  ).action(
    calling(host, async (context, name: string, words: string[], options: WaitOptions) =>
      (await references()).set(context, name, words, options),
    ),
  );

const unset = (host: Host) =>
  takesWait(
    apiCommand('unset', 'remove references', {
      details:
        'A difference creates a new revision. A rollback to an older revision also restores its references.',
    })
      .argument(...DEPLOYMENT)
      .argument('<names...>', 'names of the variables'),
  ).action(
    calling(host, async (context, name: string, names: string[], options: WaitOptions) =>
      (await references()).unset(context, name, names, options),
    ),
  );

export function buildReferences(made: Command, host: Host): void {
  describe(made, EXIT_HELP)
    .addCommand(
      apiCommand('list', 'list the references with their Secrets')
        .argument(...DEPLOYMENT)
        .action(calling(host, async (context, name: string) => (await references()).list(context, name))),
    )
    .addCommand(set(host))
    .addCommand(unset(host));
}
