import { UsageError } from '../../command/usage-error.ts';
import type { Deployment, UpdateDeploymentSecretsInput } from '../api.gen.ts';
import { readText, withoutLastBreak } from '../body-file.ts';
import { type Context, noteEffects, noteNotSet, show } from '../context.ts';
import type { End } from '../exit-codes.ts';
import { lookUpDeployment } from '../lookup.ts';
import { cell, table } from '../table.ts';
import { hidden } from '../terminal/prompt.ts';
import { settle, type WaitOptions, waitSeconds } from '../wait.ts';
import { type NamedSecret, secretsToSet } from './words.ts';

/** `berth secrets …`. No command prints a value. */

/** Prints names only. */
async function showNames(context: Context, secretNames: readonly string[]): Promise<void> {
  const names = [...secretNames].sort();
  const view = () =>
    table(
      ['NAME'],
      names.map((name) => [cell(name)]),
    );
  await show(
    context,
    names.map((name) => ({ name })),
    { table: view, names: () => names },
  );
}

const namesOf = ({ secrets }: Deployment) => secrets.map(({ name }) => name);

export async function list(context: Context, name: string): Promise<undefined> {
  await showNames(context, namesOf(await lookUpDeployment(context.client, name, true)));
}

/** The value of a secret from a prompt without echo, or from standard input without its last line break. */
async function enteredValue(name: string): Promise<string> {
  const value = process.stdin.isTTY ? await hidden(`${cell(name)}: `) : withoutLastBreak(await readText('-'));
  if (value === '')
    throw new UsageError(`the value of ${name} is empty: enter it, or use ${name}= for no text`);
  return value;
}

/** @throws UsageError when standard input is needed more than once */
function checkInput(secrets: readonly NamedSecret[], file: string | undefined): void {
  const entered = secrets.filter(({ value }) => value === null).length;
  const isRead = file === '-' ? 1 : 0;
  if (process.stdin.isTTY ? entered > 0 && isRead > 0 : entered + isRead > 1)
    throw new UsageError(
      'standard input can have the value of one KEY: run the command for each, or use --from-file FILE',
    );
}

/** Changes secrets, prints the names of all secrets, and waits. */
async function change(
  context: Context,
  deployment: Deployment,
  body: UpdateDeploymentSecretsInput,
  seconds: number | null,
): Promise<End> {
  const params = { path: { deployment_id: deployment.id } };
  const made = await context.client.PATCH('/v2/deployments/{deployment_id}/secrets', { params, body });
  if (made.generation === deployment.generation)
    context.note('nothing changed: the secrets already have these values');
  noteEffects(context, made);
  await showNames(context, made.names);
  return seconds === null ? 'reached' : settle(context, deployment, seconds, made.latest_revision_id);
}

/** Adds secrets or replaces their values. */
export async function set(
  context: Context,
  name: string,
  words: readonly string[],
  options: WaitOptions & { readonly fromFile?: string },
): Promise<End> {
  const seconds = waitSeconds(options);
  const { fromFile: path } = options;
  const file = path === undefined ? null : { path, text: await readText(path) };
  const secrets = secretsToSet(words, file);
  checkInput(secrets, path);
  const deployment = await lookUpDeployment(context.client, name, true);
  const values: { name: string; value: string }[] = [];
  for (const each of secrets)
    values.push({ name: each.name, value: each.value ?? (await enteredValue(each.name)) });
  return change(context, deployment, { set: values }, seconds);
}

/** Removes secrets. A name that is not stored is not an error, so that the command can be repeated. */
export async function unset(
  context: Context,
  name: string,
  names: readonly string[],
  options: WaitOptions,
): Promise<End> {
  const seconds = waitSeconds(options);
  const deployment = await lookUpDeployment(context.client, name, true);
  noteNotSet(context, deployment.secrets, names);
  return change(context, deployment, { unset: [...names] }, seconds);
}
