import { posix } from 'node:path';
import { UsageError } from '../../command/usage-error.ts';
import { given } from '../given.ts';
import { cell } from '../table.ts';
import type { SourceFolder } from './source.ts';

/** How an uploaded folder is built. */

export interface BuildSettings {
  /** Path of the configuration file in the folder. */
  readonly config?: string;
  /** Path of the Dockerfile in the folder. */
  readonly dockerfile?: string;
  readonly installCommand?: string;
  readonly buildCommand?: string;
}

/** A path as an archive contains it, without `./`. */
const normal = (path: string | undefined) => (path === undefined ? undefined : posix.normalize(path));

/** The settings as the API names them. */
export const queryOf = ({ config, dockerfile, installCommand, buildCommand }: BuildSettings) =>
  given({
    workflow_config_path: normal(config),
    dockerfile: normal(dockerfile),
    install_command: installCommand,
    build_command: buildCommand,
  });

/** @throws UsageError when a file of the settings is not sent */
export function checkBuildFiles({ entries, leftOut }: SourceFolder, settings: BuildSettings): void {
  for (const option of ['config', 'dockerfile'] as const) {
    const path = normal(settings[option]);
    if (path === undefined || entries.some((entry) => entry.path === path)) continue;
    const isLeftOut = leftOut.some(
      ({ path: left }) => path === left || (left.endsWith('/') && path.startsWith(left)),
    );
    const reason = isLeftOut ? 'is left out of the upload' : 'is not a file of the folder';
    throw new UsageError(`--${option}: ${cell(path)} ${reason}. The path is relative to the folder`);
  }
}
