/** Executable files in folders. */
import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

/** The folders of the PATH. Relative ones are left out, because their meaning depends on the current folder. */
export function pathFolders(env: NodeJS.ProcessEnv): string[] {
  return (env['PATH'] ?? '').split(delimiter).filter((folder) => isAbsolute(folder));
}

/** Path of an executable file in the first folder that has it. */
export function locate(name: string, folders: readonly (string | undefined)[]): string | undefined {
  return folders
    .map((folder) => (folder ? join(folder, name) : ''))
    .find((path) => path !== '' && isExecutable(path));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
