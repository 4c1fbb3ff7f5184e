import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { UsageError } from '../../command/usage-error.ts';
import type { ApplyDeploymentInput } from '../api.gen.ts';
import { readText, textOf } from '../body-file.ts';
import type { Context } from '../context.ts';
import {
  type DeploymentDocument,
  type Parsed,
  type Problem,
  parseDocuments,
  problemLine,
  repeatedNames,
} from './documents.ts';
import { type Secret, secretValues } from './values.ts';

/** Reads the documents of FILE, DIR or standard input. */

const DOCUMENT_FILE = /^[^.].*\.(ya?ml|json)$/;

/** The files of a folder in the order of their names, or the file itself. */
async function filesOf(path: string): Promise<string[]> {
  if (path === '-') return [path];
  try {
    if (!(await stat(path)).isDirectory()) return [path];
    const names = (await readdir(path)).filter((name) => DOCUMENT_FILE.test(name)).sort();
    return names.map((name) => join(path, name));
  } catch (error) {
    throw new UsageError(`failed to read ${path}: ${(error as Error).message}`);
  }
}

/** The request that makes a deployment equal to its document. */
export interface Wanted extends Pick<DeploymentDocument, 'place' | 'name' | 'tags'> {
  readonly body: ApplyDeploymentInput;
}

const bodyOf = ({ fields }: DeploymentDocument, secrets: readonly Secret[] | null): ApplyDeploymentInput => ({
  ...fields,
  ...(secrets === null ? {} : { secrets: [...secrets] }),
});

/** The documents with the values of their secrets. */
async function wantedOf(
  { documents, problems: found }: Parsed,
  variable: (name: string) => Promise<string | undefined>,
): Promise<{ readonly wanted: readonly Wanted[]; readonly problems: readonly Problem[] }> {
  const problems = [...found, ...repeatedNames(documents)];
  const wanted: Wanted[] = [];
  const sources = { variable, readFile: async (path: string) => textOf(await readFile(path)) };
  for (const document of documents) {
    const values = await secretValues(document, sources);
    problems.push(...values.problems);
    const { place, name, tags } = document;
    wanted.push({ place, name, tags, body: bodyOf(document, values.secrets) });
  }
  return { wanted, problems };
}

/** Prints the problems of documents. */
export function printProblems(context: Context, problems: readonly Problem[]): void {
  for (const problem of problems) context.note(`berth: ${problemLine(problem)}`);
}

/**
 * Reads all documents before anything is sent.
 * @param variable reads an environment variable
 * @returns null: a document is invalid, and its problems were printed
 * @throws UsageError when a file cannot be read, or there is no document
 */
export async function readWanted(
  context: Context,
  path: string,
  variable: (name: string) => Promise<string | undefined>,
): Promise<readonly Wanted[] | null> {
  const files = await filesOf(path);
  const parsed: Parsed[] = [];
  for (const file of files) parsed.push(parseDocuments(file, await readText(file)));
  const all = {
    documents: parsed.flatMap(({ documents }) => documents),
    problems: parsed.flatMap(({ problems }) => problems),
  };
  const { wanted, problems } = await wantedOf(all, variable);
  printProblems(context, problems);
  if (problems.length > 0) return null;
  if (wanted.length === 0) {
    const what = files.length === 0 ? 'no files *.yaml, *.yml or *.json' : 'no documents';
    throw new UsageError(`${path} contains ${what}`);
  }
  return wanted;
}
