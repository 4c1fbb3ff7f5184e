import type { Command } from 'commander';
import { describe } from '../../command/command.ts';
import type { Host } from '../../command/host.ts';
import { DEPLOYMENT } from '../arguments.ts';
import { apiCommand, calling } from '../call.ts';
import { EXIT_HELP } from '../exit-codes.ts';
import { takesWait, type WaitOptions } from '../wait.ts';
import type { DryRunOptions } from './dry-run.ts';

/** `berth revisions …`. */

const revisions = () => import('./revisions.ts');

const REVISION = ['[revision]', 'id or number of the revision; default: the latest revision'] as const;

type Name = string;
type Word = string | undefined;

/** The options of a command that creates a revision from another one. */
const takesRepeatOptions = (made: Command) =>
  takesWait(made.option('--dry-run', 'only print what would change', false));

type RepeatOptions = WaitOptions & DryRunOptions;

const rollback = (host: Host) =>
  takesRepeatOptions(
    apiCommand('rollback', 'create a new revision with the content of an older one, including its secrets')
      .argument(...DEPLOYMENT)
      .argument('<revision>', 'id or number of the revision'),
  ).action(
    calling(host, async (context, name: Name, word: string, options: RepeatOptions) =>
      (await revisions()).again(context, 'rollback', [name, word], options),
    ),
  );

const redeploy = (host: Host) =>
  takesRepeatOptions(
    apiCommand('redeploy', 'create a new revision with the same content')
      .argument(...DEPLOYMENT)
      .argument(...REVISION),
  ).action(
    calling(host, async (context, name: Name, word: Word, options: RepeatOptions) =>
      (await revisions()).again(context, 'redeploy', [name, word], options),
    ),
  );

export function buildRevisions(made: Command, host: Host): void {
  describe(
    made,
    `With --wait, a failed rollout ends with the exit code 1, and the message names the source of the failure.\n\n${EXIT_HELP}`,
  )
    .addCommand(
      apiCommand('list', 'list the revisions of a deployment, newest first')
        .argument(...DEPLOYMENT)
        .action(calling(host, async (context, name: Name) => (await revisions()).list(context, name))),
    )
    .addCommand(
      apiCommand('get', 'show a revision')
        .argument(...DEPLOYMENT)
        .argument(...REVISION)
        .action(
          calling(host, async (context, name: Name, word: Word) =>
            (await revisions()).get(context, name, word),
          ),
        ),
    )
    .addCommand(
      apiCommand('explain', 'show the reason of the status of a revision, and what to do')
        .argument(...DEPLOYMENT)
        .argument(...REVISION)
        .action(
          calling(host, async (context, name: Name, word: Word) =>
            (await revisions()).explain(context, name, word),
          ),
        ),
    )
    .addCommand(rollback(host))
    .addCommand(redeploy(host))
    .addCommand(
      apiCommand('build-logs', 'print the log of the build of a revision', { formats: ['table', 'json'] })
        .argument(...DEPLOYMENT)
        .argument(...REVISION)
        .option('--follow', 'continue with new lines until the build ends', false)
        .action(
          calling(host, async (context, name: Name, word: Word, options: { follow: boolean }) =>
            (await revisions()).buildLogs(context, name, word, options),
          ),
        ),
    );
}
