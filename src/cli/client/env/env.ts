import type { Deployment } from '../api.gen.ts';
import { readText } from '../body-file.ts';
import { ApiProblem } from '../call-problem.ts';
import { type Context, noteEffects, show } from '../context.ts';
import type { End } from '../exit-codes.ts';
import { lookUpDeployment } from '../lookup.ts';
import { cell, table } from '../table.ts';
import { settle, type WaitOptions, waitSeconds } from '../wait.ts';
import { deadReferences, type Variable, variablesToSet, withoutVariables, withVariables } from './words.ts';

/** `berth env …`. */

const DEPLOYMENT = '/v2/deployments/{deployment_id}';
/** Attempts of a change that other clients overtake. Each attempt merges into the variables that were stored last. */
const MAX_ATTEMPTS = 5;

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

/** Sends the variables for the generation that was read. @throws ApiProblem 412 when another client was faster */
async function send(context: Context, before: Deployment, env: readonly Variable[]): Promise<Deployment> {
  const made = await context.client.PATCH(DEPLOYMENT, {
    params: {
      path: { deployment_id: before.id },
      query: { mask_secrets: true },
      header: { 'If-Match': `"${before.generation}"` },
    },
    body: { source_revision_config: { env: env.map(({ name, value }) => ({ name, value })) } },
  });
  noteEffects(context, made);
  return made as Deployment;
}

const isOvertaken = (error: unknown) => error instanceof ApiProblem && error.status === 412;

function noteDeadReferences(context: Context, variables: readonly Variable[]): void {
  for (const { name, later } of deadReferences(variables))
    context.note(
      `${cell(name)} contains $(${cell(later)}), which is not replaced, because ${cell(later)} is not earlier in the list: ` +
        `unset ${cell(name)}, then set it again`,
    );
}

/** Changes variables, prints all of them, and waits. */
async function change(
  context: Context,
  name: string,
  seconds: number | null,
  merge: (stored: readonly Variable[]) => readonly Variable[],
): Promise<End> {
  for (let attempt = 1; ; attempt += 1) {
    const before = await lookUpDeployment(context.client, name, true);
    try {
      const made = await send(context, before, merge(envOf(before)));
      if (made.generation === before.generation)
        context.note('nothing changed: the variables already have these values');
      noteDeadReferences(context, envOf(made));
      await showVariables(context, envOf(made));
      return seconds === null ? 'reached' : settle(context, made, seconds, made.latest_revision_id);
    } catch (error) {
      if (!isOvertaken(error) || attempt >= MAX_ATTEMPTS) throw error;
    }
  }
}

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
  const seconds = waitSeconds(options);
  const stored = new Set(envOf(await lookUpDeployment(context.client, name, true)).map((each) => each.name));
  for (const each of names) if (!stored.has(each)) context.note(`${cell(each)} is not set`);
  return change(context, name, seconds, (variables) => withoutVariables(variables, names));
}
