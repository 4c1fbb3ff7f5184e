import { ApiProblem, isPassing, problemText } from '../call-problem.ts';
import { type Context, show } from '../context.ts';
import type { Exit } from '../exit-codes.ts';
import { cell } from '../table.ts';
import { selected } from './apply.ts';
import { changeLine } from './changes.ts';
import { readWanted } from './files.ts';
import { allChanges, isChanged, type Planned, plan, summaryOf } from './plan.ts';
import { selectorOf } from './selection.ts';

/** `berth diff`. */

export interface DiffOptions {
  readonly file: string;
  readonly selector?: readonly string[];
}

function linesOf(planned: Planned): string[] {
  const { wanted, before } = planned;
  if (!isChanged(planned)) return [`${cell(wanted.name)}: no difference`];
  const changes = allChanges(planned);
  const count = changes.length === 1 ? '1 field differs' : `${changes.length} fields differ`;
  const title = before === null ? 'does not exist' : count;
  return [`${cell(wanted.name)}: ${title}`, ...changes.map((change) => `  ${changeLine(change)}`)];
}

async function compare(
  context: Context,
  { file, selector }: DiffOptions,
  variable: (name: string) => Promise<string | undefined>,
): Promise<Exit> {
  const tags = selectorOf(selector ?? []);
  const documents = await readWanted(context, file, variable);
  const planned = documents === null ? null : await plan(context, selected(context, documents, tags));
  if (planned === null) return 'usage';
  const results = planned.map(summaryOf);
  await show(context, results, {
    table: () => planned.flatMap(linesOf).join('\n'),
    names: () => results.filter(({ changes }) => changes.length > 0).map(({ name }) => name),
  });
  return planned.some(isChanged) ? 'failed' : 'reached';
}

/**
 * Runs the command. An API that rejects the requests is not a difference, so it has the exit code of invalid input.
 * @throws UsageError; ApiProblem when the API is not reachable
 */
export async function diff(
  context: Context,
  options: DiffOptions,
  variable: (name: string) => Promise<string | undefined>,
): Promise<Exit> {
  try {
    return await compare(context, options, variable);
  } catch (error) {
    if (!(error instanceof ApiProblem) || isPassing(error)) throw error;
    context.note(problemText(error));
    return 'usage';
  }
}
