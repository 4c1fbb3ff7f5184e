import type { Deployment } from '../api.gen.ts';
import { readText } from '../body-file.ts';
import { type Context, noteNotSet, show } from '../context.ts';
import type { End } from '../exit-codes.ts';
import { lookUpDeployment } from '../lookup.ts';
import { cell, table } from '../table.ts';
import { type WaitOptions, waitSeconds } from '../wait.ts';
import { changeList } from './change-list.ts';
import { deadReferences, type Variable, variablesToSet, withoutVariables, withVariables } from './words.ts';

/** `berth env …`. */

const envOf = ({ source_revision_config: { env = [] } }: Deployment): readonly Variable[] => env;

async function showVariables(context: Context, variables: readonly Variable[]): Promise<void> {
  const rows = () => variables.map(({ name, value }) => [cell(name), cell(value)]);
  await show(context, variables, {
    table: () => table(['NAME', 'VALUE'], rows()),
    names: () => variables.map(({ name }) => name),
  });
}

export async function list(context: Context, name: string): Promise<undefined> {
  await showVariables(context, envOf(await lookUpDeployment(context.client, name, true)));
}

function noteDeadReferences(context: Context, variables: readonly Variable[]): void {
  for (const { name, later } of deadReferences(variables))
    context.note(
      `${cell(name)} contains $(${cell(later)}), which is not replaced, because ${cell(later)} is not earlier in the list: ` +
        `unset ${cell(name)}, then set it again`,
    );
}

const change = (
  context: Context,
  name: string,
  seconds: number | null,
  merge: (stored: readonly Variable[]) => readonly Variable[],
  begin?: (stored: readonly Variable[]) => void,
): Promise<End> =>
  changeList(context, name, seconds, {
    begin: (before) => begin?.(envOf(before)),
    patch: (before) => ({
      source_revision_config: {
        env: merge(envOf(before)).map((variable) => ({ name: variable.name, value: variable.value })),
      },
    }),
    unchanged: 'nothing changed: the variables already have these values',
    show: (made) => {
      noteDeadReferences(context, envOf(made));
      return showVariables(context, envOf(made));
    },
  });

/** Adds variables or replaces their values. */
export async function set(
  context: Context,
  name: string,
  words: readonly string[],
  options: WaitOptions & { readonly fromFile?: string },
): Promise<End> {
  const seconds = waitSeconds(options);
  const { fromFile: path } = options;
  const file = path === undefined ? null : { path, text: await readText(path) };
  const variables = variablesToSet(words, file);
  return change(context, name, seconds, (stored) => withVariables(stored, variables));
}

/** Removes variables. A name that is not stored is not an error, so that the command can be repeated. */
export async function unset(
  context: Context,
  name: string,
  names: readonly string[],
  options: WaitOptions,
): Promise<End> {
  return change(
    context,
    name,
    waitSeconds(options),
    (variables) => withoutVariables(variables, names),
    (stored) => noteNotSet(context, stored, names),
  );
}
