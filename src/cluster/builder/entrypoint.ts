import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Language, WorkflowConfig } from './workflow-config.ts';

/** The file that starts an application: whether it is there, seen before anything is built and pushed. */

/** What the languages take a path for: Node also finds `server.js` by `server`. */
const ENDINGS: Readonly<Record<Language, readonly string[]>> = { node: ['', '.js'], python: [''] };
/** Folders that the installation fills. */
const INSTALLED = /^(\.\/)?(node_modules|\.venv)\//;

/** @param folder that of the configuration */
export function hasEntrypoint(folder: string, { language, entrypoint }: WorkflowConfig): boolean {
  if (entrypoint === undefined || INSTALLED.test(entrypoint)) return true;
  return ENDINGS[language].some((ending) => existsSync(join(folder, `${entrypoint}${ending}`)));
}

/** A step of the Dockerfile that fails where the build has not made the file, before anything is pushed. */
export function entrypointCheck({ language, entrypoint = '' }: WorkflowConfig): string {
  const tests = ENDINGS[language].map((ending) => `test -e "$0${ending}"`).join(' || ');
  const told = 'echo "entrypoint: neither the repository nor the build has the file $0" >&2';
  return `RUN ${JSON.stringify(['/bin/sh', '-ec', `${tests} || { ${told}; exit 1; }`, entrypoint])}`;
}
