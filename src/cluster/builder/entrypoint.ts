import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Language, WorkflowConfig } from './workflow-config.ts';

/** Checks that the file that starts an application exists, before an image is built and pushed. */

/** Endings that a language adds to a path: Node also finds `server.js` for `server`. */
const ENDINGS: Readonly<Record<Language, readonly string[]>> = { node: ['', '.js'], python: [''] };
/** Folders that the installation creates. */
const INSTALLED = /^(\.\/)?(node_modules|\.venv)\//;

/** @param folder the folder of the configuration */
export function hasEntrypoint(folder: string, { language, entrypoint }: WorkflowConfig): boolean {
  if (entrypoint === undefined || INSTALLED.test(entrypoint)) return true;
  return ENDINGS[language].some((ending) => existsSync(join(folder, `${entrypoint}${ending}`)));
}

/** A step of the Dockerfile that fails if the build did not create the entrypoint, before the image is pushed. */
export function entrypointCheck({ language, entrypoint = '' }: WorkflowConfig): string {
  const tests = ENDINGS[language].map((ending) => `test -e "$0${ending}"`).join(' || ');
  const report = 'echo "entrypoint: neither the repository nor the build has the file $0" >&2';
  return `RUN ${JSON.stringify(['/bin/sh', '-ec', `${tests} || { ${report}; exit 1; }`, entrypoint])}`;
}
