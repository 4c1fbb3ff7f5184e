import type { Command } from 'commander';
import { command, describe, switchOption, valueOption, wholeNumber } from '../command/command.ts';
import type { Host } from '../command/host.ts';
import { UsageError } from '../command/usage-error.ts';

/** `berth build-step`: a step in the Job of a build (docs/builds.md). */

const EXIT =
  'Exit code: 0 for success; 1 for a failure, with a reason and a message in the result; 2 for wrong usage.';

const SOURCE = `Clones one commit of a repository and prepares the build. The command writes DIR/context, DIR/commit and
DIR/dockerfile/Dockerfile. The Dockerfile is the file next to the configuration in the repository. If the repository has
no Dockerfile, the command generates it from the configuration.

${EXIT}`;

const UPLOAD = `Fetches an uploaded folder from the registry of the platform, verifies its digest, unpacks it and prepares the
build. The command writes DIR/context and DIR/dockerfile/Dockerfile. If the folder has neither a Dockerfile nor a berth.yaml, the
command detects Node and Python.

${EXIT}`;

const RESULT = `Reports the digest of the image and the commit that it was built from. The command reads DIR/metadata.json, and
DIR/commit if a repository was built.

${EXIT}`;

/** A parser that rejects an empty value. */
const filled = (name: string) => (value: string) => {
  if (value === '') throw new UsageError(`${name} is empty`);
  return value;
};

const step = (name: string, summary: string, details: string) =>
  command(name, summary, details)
    .addOption(
      valueOption(
        '--workspace <dir>',
        'folder that the steps of a build share',
        filled('--workspace'),
      ).makeOptionMandatory(),
    )
    .addOption(
      valueOption(
        '--termination-log <file>',
        'file for the result as JSON (default: BERTH_TERMINATION_LOG, or /dev/termination-log)',
      ),
    );

const limit = (flag: string, summary: string, value: number) =>
  valueOption(`${flag} <n>`, summary, wholeNumber(flag, 1)).default(value);

function uploadCommand(host: Host): Command {
  const needed = (flag: string, value: string, summary: string) =>
    valueOption(`${flag} <${value}>`, summary, filled(flag)).makeOptionMandatory();
  return step('upload', 'fetch and unpack an uploaded folder, and generate a missing Dockerfile', UPLOAD)
    .addOption(needed('--repository', 'name', 'repository of the upload: registry/path'))
    .addOption(needed('--digest', 'digest', 'digest of the upload: sha256:HEX'))
    .addOption(
      valueOption(
        '--dockerfile <path>',
        'Dockerfile in the folder, for which the whole folder is the context',
      ),
    )
    .addOption(
      valueOption('--config <path>', "the application's configuration in the folder (workflow_config_path)"),
    )
    .addOption(valueOption('--install-command <text>', 'replaces install of the configuration'))
    .addOption(valueOption('--build-command <text>', 'replaces build of the configuration'))
    .addOption(
      needed(
        '--credentials',
        'dir',
        'folder with the file source-config.json; without it, no credentials are sent',
      ),
    )
    .addOption(switchOption('--insecure-registry', 'the registry uses plain HTTP'))
    .addOption(limit('--max-packed-mb', 'maximum size of the upload in MiB', 64))
    .addOption(limit('--max-unpacked-mb', 'maximum size of the unpacked folder in MiB', 512))
    .addOption(limit('--max-entries', 'maximum number of files, folders and links', 50_000))
    .addOption(limit('--max-path-bytes', 'maximum length of a path in bytes', 1024))
    .addOption(limit('--timeout-seconds', 'maximum duration of the fetch', 600))
    .action(async (options) => {
      const { buildUpload } = await import('./build-step-run.ts');
      host.exitCode = await buildUpload(options);
    });
}

export function buildBuildStep(made: Command, host: Host): void {
  describe(made, `Between source or upload and result, BuildKit builds and pushes the image.`);
  made.addCommand(
    step('source', 'clone the repository, read the configuration, and generate a missing Dockerfile', SOURCE)
      .addOption(
        valueOption(
          '--repo-url <url>',
          'https URL of the repository',
          filled('--repo-url'),
        ).makeOptionMandatory(),
      )
      .addOption(
        valueOption(
          '--ref <ref>',
          "branch, tag (refs/tags/NAME) or commit; default: the repository's default branch",
        ),
      )
      .addOption(valueOption('--commit <sha>', 'the commit to build, on that ref'))
      .addOption(
        valueOption(
          '--config <path>',
          "the application's configuration in the repository (workflow_config_path)",
          filled('--config'),
        ).makeOptionMandatory(),
      )
      .addOption(valueOption('--install-command <text>', 'replaces install of the configuration'))
      .addOption(valueOption('--build-command <text>', 'replaces build of the configuration'))
      .addOption(
        valueOption(
          '--credentials <dir>',
          'folder with the files git-username and git-token; without them, no credentials are sent',
          filled('--credentials'),
        ).makeOptionMandatory(),
      )
      .addOption(
        valueOption(
          '--max-megabytes <n>',
          'maximum size of the fetched data, and of the files',
          wholeNumber('--max-megabytes', 1),
        ).default(1024),
      )
      .addOption(
        valueOption(
          '--timeout-seconds <n>',
          'maximum duration of the fetch',
          wholeNumber('--timeout-seconds', 1),
        ).default(600),
      )
      .action(async (options) => {
        const { buildSource } = await import('./build-step-run.ts');
        host.exitCode = await buildSource(options);
      }),
  );
  made.addCommand(uploadCommand(host));
  made.addCommand(
    step('result', 'report the digest and the commit', RESULT).action(async (options) => {
      const { buildResult } = await import('./build-step-run.ts');
      host.exitCode = await buildResult(options);
    }),
  );
}
