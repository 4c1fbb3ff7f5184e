import type { Command } from 'commander';
import { describe, switchOption, valueOption, wholeNumber } from '../../command/command.ts';
import type { Host } from '../../command/host.ts';
import { FORMATS_WITHOUT_NAME } from '../../command/output.ts';
import { UsageError } from '../../command/usage-error.ts';
import { DEPLOYMENT } from '../arguments.ts';
import { apiCommand, calling, callsApi } from '../call.ts';
import { choicesOf } from '../choices.ts';
import { EXIT_HELP } from '../exit-codes.ts';
import { YES } from '../terminal/yes.ts';
import { takesWait, takesWaitForDeletion, timeoutOption, type WaitOptions } from '../wait.ts';
import type { DeleteOptions } from './delete.ts';
import type { ListOptions, SecretOptions } from './read.ts';

/** `berth deployments …`, and short commands for one deployment. */

const read = () => import('./read.ts');
const write = () => import('./write.ts');
const deletion = () => import('./delete.ts');

const STATUSES = choicesOf<NonNullable<ListOptions['status']>>({
  READY: true,
  UNUSED: true,
  AWAITING_DATABASE: true,
  AWAITING_DELETE: true,
  UNKNOWN: true,
});
const TYPES = choicesOf<NonNullable<ListOptions['type']>>({ dev_free: true, dev: true, prod: true });

const showSecretsOption = () =>
  switchOption('--show-secrets', 'print the values of secrets; needs the scope secrets:read');

const fileOption = () =>
  valueOption('-f, --file <file>', 'JSON or YAML file; - is standard input').makeOptionMandatory();

function reads(host: Host): Command[] {
  return [
    apiCommand('list', 'list the deployments of the tenant')
      .addOption(valueOption('--status <status>', 'only deployments with this status').choices(STATUSES))
      .addOption(valueOption('--name-contains <text>', 'only deployments whose name contains this text'))
      .addOption(valueOption('--image-version <version>', 'only deployments with this version of the image'))
      .addOption(valueOption('--type <type>', 'only deployments of this type').choices(TYPES))
      .addOption(showSecretsOption())
      .action(calling(host, async (context, options: ListOptions) => (await read()).list(context, options))),
    apiCommand('get', 'show a deployment')
      .argument(...DEPLOYMENT)
      .addOption(showSecretsOption())
      .action(
        calling(host, async (context, name: string, options: SecretOptions) =>
          (await read()).get(context, name, options),
        ),
      ),
    apiCommand('watch', 'wait until a deployment is READY or has failed', { formats: [] })
      .argument(...DEPLOYMENT)
      .addOption(timeoutOption())
      .action(
        calling(host, async (context, name: string, { timeout }: { timeout?: number }) =>
          (await read()).watchDeployment(context, name, timeout),
        ),
      ),
    apiCommand('push-token', 'create short-lived credentials to push the image of a deployment', {
      details: 'For deployments with the source internal_image. In scripts, use -o json.',
      formats: FORMATS_WITHOUT_NAME,
    })
      .argument(...DEPLOYMENT)
      .action(calling(host, async (context, name: string) => (await read()).pushToken(context, name))),
  ];
}

const DELETE = `The API may have a grace period for deletions (BERTH_DELETION_GRACE; default: none). During the grace period, no pods
run, and berth restore restores the deployment with its data. With --wait, the timeout must be longer than the grace period.`;

const CREATE = `An example of a file:

  name: shop
  source: external_image
  source_config: {}
  source_revision_config:
    image_uri: registry.example/shop/web:1.0.0
  secrets:
    - name: TOKEN
      value: secret`;

function writes(host: Host): Command[] {
  return [
    takesWait(
      apiCommand('create', 'create a deployment from a file', { details: CREATE }).addOption(fileOption()),
    ).action(
      calling(host, async (context, options: WaitOptions & { file: string }) =>
        (await write()).create(context, options),
      ),
    ),
    takesWait(
      apiCommand('patch', 'change fields of a deployment from a file')
        .argument(...DEPLOYMENT)
        .addOption(fileOption()),
    ).action(
      calling(host, async (context, name: string, options: WaitOptions & { file: string }) =>
        (await write()).patch(context, name, options),
      ),
    ),
    takesWaitForDeletion(
      apiCommand('delete', 'delete a deployment', { details: DELETE })
        .argument(...DEPLOYMENT)
        .option('--delete-tracing-project', 'also delete its tracing project', false)
        .addOption(
          switchOption(
            '--keep-workloads',
            'leave the workloads and the data in the cluster; needs the scope admin',
          ),
        )
        .addOption(
          switchOption(
            '--force',
            'remove it at once, for a cluster that no longer exists; needs the scope admin',
          ).conflicts('keepWorkloads'),
        )
        .option(...YES),
    ).action(
      calling(host, async (context, name: string, options: WaitOptions & DeleteOptions) =>
        (await deletion()).remove(context, name, options),
      ),
    ),
  ];
}

export function buildDeployments(made: Command, host: Host): void {
  describe(made, EXIT_HELP);
  for (const each of [...reads(host), ...writes(host)]) made.addCommand(each);
}

export function buildScale(made: Command, host: Host): void {
  describe(made, `With --min 0 --max 0, the deployment is switched off and keeps its data.`);
  takesWait(
    callsApi(made)
      .argument(...DEPLOYMENT)
      .addOption(valueOption('--min <n>', 'minimum number of pods', wholeNumber('--min', 0)))
      .addOption(valueOption('--max <n>', 'maximum number of pods', wholeNumber('--max', 0))),
  ).action(
    calling(host, async (context, name: string, options: WaitOptions & { min?: number; max?: number }) => {
      const { min, max } = options;
      if (min === undefined && max === undefined) throw new UsageError('set --min N, --max N or both');
      if (min !== undefined && max !== undefined && min > max)
        throw new UsageError('--min must not be greater than --max');
      return (await write()).scale(context, name, options);
    }),
  );
}

export function buildOpen(made: Command, host: Host): void {
  callsApi(made)
    .argument(...DEPLOYMENT)
    .option('--print', 'only print the URL', false)
    .action(
      calling(host, async (context, name: string, options: { print: boolean }) => {
        const { open } = await import('./open.ts');
        return open(context, name, options);
      }),
    );
}

export function buildRestore(made: Command, host: Host): void {
  describe(
    made,
    `The name is that of a deployment that is being deleted, even if a newer deployment has the same name.`,
  );
  takesWait(callsApi(made).argument(...DEPLOYMENT)).action(
    calling(host, async (context, name: string, options: WaitOptions) =>
      (await deletion()).restore(context, name, options),
    ),
  );
}
