import { randomUUID } from 'node:crypto';
import { UsageError } from '../../command/usage-error.ts';
import type { Deployment, FieldChange } from '../api.gen.ts';
import { ApiProblem, isPassing } from '../call-problem.ts';
import { type Context, noteEffects, show } from '../context.ts';
import type { End, Exit } from '../exit-codes.ts';
import { cell, table } from '../table.ts';
import { settle, type WaitOptions, waitSeconds } from '../wait.ts';
import { tagChanges } from './changes.ts';
import { reportConflict } from './conflict.ts';
import { printProblems, readWanted, type Wanted } from './files.ts';
import { isChanged, type Planned, plan, rejected, summaryOf } from './plan.ts';
import { candidates, confirmPrune, prune } from './prune.ts';
import { isSelected, type Selector, selectorOf } from './selection.ts';
import { createTagBook, type TagBook } from './tag-book.ts';

/** `berth apply`. */

export interface ApplyOptions extends WaitOptions {
  readonly file: string;
  readonly selector?: readonly string[];
  readonly prune: boolean;
  readonly yes: boolean;
  readonly dryRun: boolean;
}

/** What happened to a deployment, or would happen. */
export interface Result {
  readonly name: string;
  /** null: the deployment does not exist. */
  readonly id: string | null;
  readonly result:
    | 'created'
    | 'changed'
    | 'unchanged'
    | 'deleted'
    | 'failed'
    | 'unknown'
    | 'would be created'
    | 'would be changed'
    | 'would be deleted';
  readonly changes: readonly FieldChange[];
  /** The components and data services whose pods would be replaced. Absent: the command is not a dry run. */
  readonly rolls?: readonly string[];
}

/** @throws UsageError for options that exclude or need each other */
function checkOptions({ prune: prunes, yes, dryRun, wait }: ApplyOptions, selector: Selector): void {
  if (prunes && selector.size === 0)
    throw new UsageError('--prune needs -l KEY=VALUE, because it deletes only deployments with this tag');
  if (yes && !prunes) throw new UsageError('--yes needs --prune, because nothing else is deleted');
  if (dryRun && wait) throw new UsageError('--dry-run changes nothing, so it cannot be combined with --wait');
  if (dryRun && yes) throw new UsageError('--dry-run asks nothing, so it cannot be combined with --yes');
}

/**
 * The documents that -l selects.
 * @throws UsageError when no document matches, so that --prune with a wrong tag deletes nothing
 */
export function selected(context: Context, documents: readonly Wanted[], selector: Selector): Wanted[] {
  const found = documents.filter((each) => isSelected(each, selector));
  if (found.length === 0) throw new UsageError('no document has the tags of -l');
  for (const each of documents)
    if (!found.includes(each)) context.note(`skipped ${cell(each.name)}: it does not have the tags of -l`);
  return found;
}

/** What was written. */
interface Written {
  readonly id: string;
  /** The revision that must become active. null: the latest revision. */
  readonly awaited: string | null;
}

/** A result, and the revision that a wait waits for. */
interface Applied {
  readonly result: Result;
  readonly awaited: string | null;
}

/** Creates or changes the deployment, if a field differs. @throws ApiProblem 412 */
async function write(context: Context, { wanted, before, changes }: Planned): Promise<Written> {
  if (before !== null && changes.length === 0) return { id: before.id, awaited: before.latest_revision_id };
  const made = await context.client.PUT('/v2/deployments/by-name/{name}', {
    params: {
      path: { name: wanted.name },
      query: { mask_secrets: true },
      header: {
        // A request whose response was lost is repeated. With its key, it is not a conflict with itself.
        'Idempotency-Key': randomUUID(),
        ...(before === null ? { 'If-None-Match': '*' } : { 'If-Match': `"${before.generation}"` }),
      },
    },
    body: wanted.body,
  });
  // Only a change has effects.
  if ('effects' in made) noteEffects(context, made);
  const { id, latest_revision_id: latest } = made;
  // A change in place creates no revision, so the wait follows the latest one.
  return { id, awaited: latest === before?.latest_revision_id ? null : latest };
}

/** Whether another client changed the tags after they were read. They have no generation to compare. */
const haveTagsChanged = async (book: TagBook, { before, tagsBefore }: Planned): Promise<boolean> =>
  before !== null && tagChanges(tagsBefore, await book.tagsOf(before.id)).length > 0;

/** Applies a document. @throws ApiProblem 412 when another client changed the deployment or its tags */
async function applyDocument(context: Context, book: TagBook, planned: Planned): Promise<Written> {
  const { tags } = planned.wanted;
  if (tags === null || planned.tagChanges.length === 0) return write(context, planned);
  const ids = await book.ensure(tags);
  if (await haveTagsChanged(book, planned)) throw new ApiProblem(412, 'another client changed the tags');
  const made = await write(context, planned);
  try {
    await context.client.PUT('/v2/deployments/{deployment_id}/tag-values', {
      params: { path: { deployment_id: made.id } },
      body: { tag_value_ids: ids },
    });
  } catch (error) {
    // Without this, a failed result would mean that nothing was changed.
    if (planned.before === null || planned.changes.length > 0)
      context.note(`${cell(planned.wanted.name)}: the fields were written, but not the tags`);
    throw error;
  }
  return made;
}

const isConflict = (error: unknown) => error instanceof ApiProblem && error.status === 412;

async function resultOf(context: Context, book: TagBook, planned: Planned): Promise<Applied> {
  const { wanted, before } = planned;
  const known = summaryOf(planned);
  const awaited = before?.latest_revision_id ?? null;
  if (!isChanged(planned)) return { result: { ...known, result: 'unchanged' }, awaited };
  try {
    const made = await applyDocument(context, book, planned);
    const result = before === null ? 'created' : 'changed';
    return { result: { ...known, id: made.id, result }, awaited: made.awaited };
  } catch (error) {
    if (isConflict(error)) await reportConflict(context, planned);
    else printProblems(context, rejected(wanted, error));
  }
  return { result: { ...known, result: 'failed' }, awaited };
}

/** Applies the documents one after the other. After a lost response, the result of a document is not known. */
async function applyAll(context: Context, { book, planned }: Work, results: Result[]): Promise<Applied[]> {
  const applied: Applied[] = [];
  for (const each of planned) {
    try {
      const one = await resultOf(context, book, each);
      applied.push(one);
      results.push(one.result);
    } catch (error) {
      const isRejected = error instanceof ApiProblem && !isPassing(error);
      results.push({ ...planResult(each), result: isRejected ? 'failed' : 'unknown' });
      throw error;
    }
  }
  return applied;
}

function planResult(planned: Planned): Result {
  const change = planned.before === null ? 'would be created' : 'would be changed';
  return { ...summaryOf(planned), result: isChanged(planned) ? change : 'unchanged', rolls: planned.rolls };
}

const deletion = ({ name, id }: Deployment, result: Result['result']): Result => ({
  name,
  id,
  result,
  changes: [],
});

/** The columns of a table of results. Only a dry run says what would roll. */
const COLUMNS = ['NAME', 'RESULT', 'CHANGES'];
const DRY_RUN_COLUMNS = ['NAME', 'RESULT', 'ROLLS', 'CHANGES'];

function row({ name, result, changes, rolls = [] }: Result, isDryRun: boolean): string[] {
  const fields = result.endsWith('created') ? '' : changes.map(({ field }) => field).join(', ');
  return [cell(name), result, ...(isDryRun ? [cell(rolls.join(', '))] : []), cell(fields)];
}

async function showResults(context: Context, results: readonly Result[], isDryRun = false): Promise<void> {
  if (results.length === 0) return;
  await show(context, results, {
    table: () =>
      table(
        isDryRun ? DRY_RUN_COLUMNS : COLUMNS,
        results.map((each) => row(each, isDryRun)),
      ),
    names: () => results.map(({ name }) => name),
  });
  if (results.every(({ result }) => result === 'unchanged'))
    context.note('nothing to change: the deployments already equal the files');
}

const SEVERITY: readonly End[] = ['reached', 'unknown', 'failed'];
const worse = (one: End, other: End): End => (SEVERITY.indexOf(one) > SEVERITY.indexOf(other) ? one : other);

/** Waits for the deployments one after the other, until a common deadline. */
async function waitForAll(context: Context, applied: readonly Applied[], seconds: number): Promise<End> {
  const deadline = performance.now() + seconds * 1000;
  let end: End = 'reached';
  for (const {
    result: { id, name, result },
    awaited,
  } of applied) {
    if (id === null || result === 'failed' || context.stopped.aborted) continue;
    const left = Math.max((deadline - performance.now()) / 1000, 1);
    end = worse(end, await settle(context, { id, name }, left, awaited));
  }
  return end;
}

const hasFailed = (results: readonly Result[]) => results.some(({ result }) => result === 'failed');

/** What is applied, in this order: the documents, then the deletions. */
interface Work {
  readonly book: TagBook;
  readonly planned: readonly Planned[];
  readonly doomed: readonly Deployment[];
  /** The deployments that can still be deleted. */
  readonly remaining: () => Promise<readonly Deployment[]>;
  /** null: the command does not wait. */
  readonly seconds: number | null;
}

async function carriedOut(context: Context, work: Work, results: Result[]): Promise<End> {
  const applied = await applyAll(context, work, results);
  if (work.doomed.length > 0 && hasFailed(results))
    context.note('nothing was deleted, because of the failure');
  else if (work.doomed.length > 0)
    await prune(context, work.doomed, await work.remaining(), (each, isDeleted) =>
      results.push(deletion(each, isDeleted ? 'deleted' : 'failed')),
    );
  const end = work.seconds === null ? 'reached' : await waitForAll(context, applied, work.seconds);
  return hasFailed(results) ? 'failed' : end;
}

/**
 * Runs the command. Nothing is changed unless every document is valid and the deletions are confirmed.
 * @param variable reads an environment variable
 * @throws UsageError, ApiProblem, Interrupted
 */
export async function apply(
  context: Context,
  options: ApplyOptions,
  variable: (name: string) => Promise<string | undefined>,
): Promise<Exit> {
  const seconds = waitSeconds(options);
  const selector = selectorOf(options.selector ?? []);
  checkOptions(options, selector);
  const documents = await readWanted(context, options.file, variable);
  if (documents === null) return 'usage';
  const book = createTagBook(context.client);
  const planned = await plan(context, selected(context, documents, selector), book);
  if (planned === null) return 'usage';
  const remaining = () => candidates(context, book, selector, documents);
  const doomed = options.prune ? await remaining() : [];
  await confirmPrune(context, doomed, options);
  if (options.dryRun) {
    const deletions = doomed.map((each) => deletion(each, 'would be deleted'));
    await showResults(context, [...planned.map(planResult), ...deletions], true);
    return 'reached';
  }
  const results: Result[] = [];
  try {
    return await carriedOut(context, { book, planned, doomed, remaining, seconds }, results);
  } finally {
    // Also after a failure, so that the user knows what was applied.
    await showResults(context, results);
  }
}
