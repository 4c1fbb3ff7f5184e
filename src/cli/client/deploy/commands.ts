import type { Command } from 'commander';
import { describe, switchOption, valueOption } from '../../command/command.ts';
import type { Host } from '../../command/host.ts';
import type { Format } from '../../command/output.ts';
import { UsageError } from '../../command/usage-error.ts';
import { DEPLOYMENT } from '../arguments.ts';
import { calling, callsApi, guarded } from '../call.ts';
import type { Context } from '../context.ts';
import { EXIT_HELP, type Exit } from '../exit-codes.ts';
import { waitsByDefault } from '../wait.ts';
import type { FolderDeployOptions } from './deploy-folder.ts';

/** `berth deploy`. */

const DETAILS = `With --image or --ref, deploys an image, or builds a ref of the repository. If the deployment already has it, a new revision
resolves the tag again, or builds the newest commit.

With a folder, packs it, uploads it, and builds an image as from a repository, without a git host. The current folder is ".",
and is sent only if it is named. If no deployment has the name, it is created. The log of the build is printed on standard
error. A revision keeps its upload and its settings, so a rollback and a redeployment do not need the folder. If the latest
revision has the same files and settings, nothing is built.

Of a folder, .git is never sent, and neither is what .gitignore excludes, also in the folders above up to the root of the
repository. .berthignore has the same syntax, and takes precedence: "!dist/" sends a folder that git ignores. .env* is left
out. A warning names other files that often contain secrets, such as .npmrc, .netrc and private keys, which are sent. Links must
stay inside the folder. An upload has at most 64 MiB packed, 512 MiB unpacked and 50000 files, unless the
platform has other limits.

Each step is printed on standard error. If the build or the rollout fails, the exit code is 1 and the message names the source
of the failure. Ctrl-C ends the command, not the build.

${EXIT_HELP} With 2, nothing was changed.`;

interface DeployOptions extends FolderDeployOptions {
  readonly image?: string;
  readonly ref?: string;
  readonly dryRun: boolean;
  readonly output?: Format;
}

/** Options for a folder, by their names in commander. They have no effect with --image and --ref. */
const FOR_FOLDERS = [
  'config',
  'dockerfile',
  'installCommand',
  'buildCommand',
  'includeEnv',
  'limits',
  'file',
  'dryRun',
];
/** Options that have no effect with --dry-run, which calls no API. */
const FOR_CALLS = ['file', 'wait', 'timeout', 'url', 'context'];

/** @throws UsageError unless there is exactly one of a folder, an image and a ref. Commander rejects an image with a ref. */
function checkSource(folder: string | undefined, { image, ref }: DeployOptions): void {
  const option = image !== undefined ? '--image' : ref !== undefined ? '--ref' : null;
  if (folder !== undefined && option !== null)
    throw new UsageError(`a folder excludes ${option}: remove one of them`);
  // The current folder is no default: a forgotten --image would send it.
  if (folder === undefined && option === null)
    throw new UsageError('name a folder (. is the current one), --image or --ref');
}

async function deploy(
  context: Context,
  name: string,
  folder: string | undefined,
  options: DeployOptions,
): Promise<Exit | undefined> {
  if (folder === undefined) {
    const { deploy: deployImage } = await import('../deployments/write.ts');
    return deployImage(context, name, options);
  }
  const { deployFolder } = await import('./deploy-folder.ts');
  return deployFolder(context, name, folder, options);
}

/** `--dry-run` needs no API and no key. */
function preview(host: Host, folder: string, options: DeployOptions): Promise<void> {
  return guarded(host, async (stopped) => {
    const [{ preview: show }, { checkBuildFiles }] = await Promise.all([
      import('./listing.ts'),
      import('./build-settings.ts'),
    ]);
    const { output: format = 'table', includeEnv, limits } = options;
    const streams = {
      print: (text: string) => console.log(text),
      note: (text: string) => console.error(text),
    };
    return show({ ...streams, format, includeEnv, limits, stopped }, folder, (found) =>
      checkBuildFiles(found, options),
    );
  });
}

/** The options for a folder. */
function takesFolder(made: Command): Command {
  return made
    .addOption(
      valueOption(
        '--dockerfile <path>',
        'Dockerfile in the folder; the whole folder is the build context',
      ).conflicts('config'),
    )
    .addOption(
      valueOption(
        '--config <path>',
        'configuration file in the folder; its folder is the build context. Default: the Dockerfile or the berth.yaml of the folder, otherwise Node or Python is detected',
      ),
    )
    .addOption(valueOption('--install-command <command>', 'command that installs the dependencies'))
    .addOption(valueOption('--build-command <command>', 'command that builds the app'))
    .addOption(switchOption('--include-env', 'also send files .env*, even if .gitignore excludes them'))
    .option('--no-limits', 'do not check the size before the upload, for a platform with larger limits')
    .addOption(
      valueOption(
        '-f, --file <file>',
        'JSON or YAML file with more fields of a new deployment, such as source_config and secrets; - is standard input',
      ),
    )
    .addOption(
      switchOption('--dry-run', 'only print what would be sent, and its size; calls no API').conflicts(
        FOR_CALLS,
      ),
    );
}

export function buildDeploy(made: Command, host: Host): void {
  describe(made, DETAILS);
  const takesSource = takesFolder(
    callsApi(made)
      .argument(...DEPLOYMENT)
      .argument('[folder]', 'the folder to build, such as . for the current one')
      .addOption(valueOption('--image <image>', 'image to deploy').conflicts(['ref', ...FOR_FOLDERS]))
      .addOption(
        valueOption('--ref <ref>', 'branch, tag or commit to build and deploy').conflicts(FOR_FOLDERS),
      ),
  );
  const run = calling(host, deploy);
  waitsByDefault(takesSource, 'return when the revision is created').action(async (...given: unknown[]) => {
    const [, folder, options] = given as [string, string | undefined, DeployOptions];
    checkSource(folder, options);
    return options.dryRun && folder !== undefined ? preview(host, folder, options) : run(...given);
  });
}
