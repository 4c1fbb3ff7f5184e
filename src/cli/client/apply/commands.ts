import type { Command } from 'commander';
import { describe, repeatedOption, valueOption } from '../../command/command.ts';
import type { Host } from '../../command/host.ts';
import { calling, callsApi } from '../call.ts';
import { EXIT_HELP } from '../exit-codes.ts';
import { takesWait } from '../wait.ts';
import type { ApplyOptions } from './apply.ts';
import type { DiffOptions } from './diff.ts';

/** `berth apply` and `berth diff`. */

/** The example is read by test/unit/cli/client/apply/documents.test.ts. */
export const FILES = `A file contains YAML or JSON documents, each with the fields of a deployment: name, source, source_config,
source_revision_config, secrets and tags. Of a folder, the files *.yaml, *.yml and *.json are read in the order of their
names. All documents are checked before anything is changed.

A document is the complete desired state: absent fields are cleared. Absent secrets and absent tags are kept.
A secret can take its value from an environment variable or from a file, without its last line break. The path is relative
to the document:

  name: shop
  source: external_image
  source_config: {resource_spec: {cpu: 0.5}}
  source_revision_config: {image_uri: registry.example/shop/web:1.0.0}
  secrets:
    - {name: TOKEN, value_from: {env: SHOP_TOKEN}}
    - {name: TLS_KEY, value_from: {file: tls.key}}
  tags: {team: payments}`;

const fileOption = () =>
  valueOption(
    '-f, --file <path>',
    'YAML or JSON file, or a folder; - is standard input',
  ).makeOptionMandatory();

const selectorOption = () =>
  repeatedOption(
    '-l, --selector <tag>',
    'only documents with this tag KEY=VALUE. May be given several times; all tags must match',
  );

export function buildApply(made: Command, host: Host): void {
  describe(
    made,
    `${FILES}

Applying the same files again changes nothing. If another client changes a deployment meanwhile, the command keeps that
change, prints it, and exits with 1. Missing tags are created.

--prune deletes the deployments that have the tags of -l and are described by no document. It lists them with their
databases, and asks. During the grace period, berth restore restores them. It deletes nothing if a document could not be
applied.

${EXIT_HELP} With 2, nothing was changed.`,
  );
  takesWait(
    callsApi(made)
      .addOption(fileOption())
      .addOption(selectorOption())
      .option('--prune', 'delete deployments with the tags of -l that no document describes', false)
      .option('-y, --yes', 'delete without a question', false)
      .option('--dry-run', 'only print what would change', false),
  ).action(
    calling(host, async (context, options: ApplyOptions) =>
      (await import('./apply.ts')).apply(context, options, host.variable),
    ),
  );
}

export function buildDiff(made: Command, host: Host): void {
  describe(
    made,
    `The files are those of berth apply. Values of secrets are masked. Nothing is changed.

Exit codes: 0 no difference; 1 a difference; 2 wrong usage, a file or the contexts cannot be read, or the API rejected a
document or the request; 3 unknown, because the API was not reachable or too busy, or for another error; 130
interrupted.`,
  );
  callsApi(made)
    .addOption(fileOption())
    .addOption(selectorOption())
    .hook('preAction', () => {
      host.isOneResult = true;
    })
    .action(
      calling(host, async (context, options: DiffOptions) =>
        (await import('./diff.ts')).diff(context, options, host.variable),
      ),
    );
}
