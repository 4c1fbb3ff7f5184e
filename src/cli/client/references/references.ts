import type { Deployment } from '../api.gen.ts';
import { type Context, noteNotSet, show } from '../context.ts';
import { changeList } from '../env/change-list.ts';
import type { End } from '../exit-codes.ts';
import { lookUpDeployment } from '../lookup.ts';
import { cell, table } from '../table.ts';
import { type WaitOptions, waitSeconds } from '../wait.ts';
import { type Reference, referencesToSet, withoutReferences, withReferences } from './words.ts';

/** `berth references …`. */

const referencesOf = ({ secret_references: references = [] }: Deployment): readonly Reference[] => references;

async function showReferences(context: Context, references: readonly Reference[]): Promise<void> {
  const rows = () =>
    references.map(({ name, secret_name, secret_key }) => [cell(name), cell(secret_name), cell(secret_key)]);
  await show(context, references, {
    table: () => table(['NAME', 'SECRET', 'KEY'], rows()),
    names: () => references.map(({ name }) => name),
  });
}

export async function list(context: Context, name: string): Promise<undefined> {
  await showReferences(context, referencesOf(await lookUpDeployment(context.client, name, true)));
}

const change = (
  context: Context,
  name: string,
  seconds: number | null,
  merge: (stored: readonly Reference[]) => Reference[],
  begin?: (stored: readonly Reference[]) => void,
): Promise<End> =>
  changeList(context, name, seconds, {
    begin: (before) => begin?.(referencesOf(before)),
    patch: (before) => ({ secret_references: merge(referencesOf(before)) }),
    unchanged: 'nothing changed: the references are already the same',
    show: (made) => showReferences(context, referencesOf(made)),
  });

/** Adds references or changes their Secrets. */
export async function set(
  context: Context,
  name: string,
  words: readonly string[],
  options: WaitOptions,
): Promise<End> {
  const seconds = waitSeconds(options);
  const references = referencesToSet(words);
  return change(context, name, seconds, (stored) => withReferences(stored, references));
}

/** Removes references. A name that is not stored is not an error, so that the command can be repeated. */
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
    (references) => withoutReferences(references, names),
    (stored) => noteNotSet(context, stored, names),
  );
}
