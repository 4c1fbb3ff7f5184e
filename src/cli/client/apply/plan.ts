import type { Deployment, FieldChange, UpdatedDeployment } from '../api.gen.ts';
import { ApiProblem, reasonText } from '../call-problem.ts';
import type { Client } from '../client.ts';
import type { Context } from '../context.ts';
import { liveByName } from '../lookup.ts';
import { tagChanges } from './changes.ts';
import type { Problem, Tags } from './documents.ts';
import { printProblems, type Wanted } from './files.ts';
import { createTagBook, type TagBook } from './tag-book.ts';

/** Compares documents with the deployments of the API. Changes nothing. */

/** A document, and what it would change. */
export interface Planned {
  readonly wanted: Wanted;
  /** The deployment as it was read. null: it does not exist. */
  readonly before: Deployment | null;
  /** The tags as they were read. */
  readonly tagsBefore: Tags;
  /** Changed fields, without tags. */
  readonly changes: readonly FieldChange[];
  readonly tagChanges: readonly FieldChange[];
  /** The components and data services whose pods would be replaced. */
  readonly rolls: readonly string[];
}

export const allChanges = ({ changes, tagChanges: tags }: Planned): FieldChange[] => [...changes, ...tags];

/** What the output says about a document. id: null when the deployment does not exist. */
export const summaryOf = (planned: Planned) => ({
  name: planned.wanted.name,
  id: planned.before?.id ?? null,
  changes: allChanges(planned),
});

export const isChanged = (planned: Planned): boolean => allChanges(planned).length > 0;

/** Statuses with which the API rejects the content of a document. */
const INVALID: ReadonlySet<number | null> = new Set([400, 409, 413, 422]);

/** The problems of a document that the API rejected. Other errors are thrown again. */
export function rejected({ place, name }: Wanted, error: unknown): Problem[] {
  if (!(error instanceof ApiProblem) || !INVALID.has(error.status)) throw error;
  return error.reasons.map((reason) => ({
    place,
    name,
    field: null,
    reason: reasonText({ ...reason, field: reason.field?.replace(/^body\.?/, '') || null }),
  }));
}

const NO_TAGS: Tags = new Map();

async function planOne(client: Client, book: TagBook, wanted: Wanted): Promise<Planned> {
  const before = await liveByName(client, wanted.name, true);
  const tagsBefore = wanted.tags === null || before === null ? NO_TAGS : await book.tagsOf(before.id);
  const outlook = await client.PUT('/v2/deployments/by-name/{name}', {
    params: { path: { name: wanted.name }, query: { dry_run: true, mask_secrets: true } },
    body: wanted.body,
  });
  // Only the response to a creation, which is no dry run, has another type.
  const { changes = [], rolls = [] } = outlook as UpdatedDeployment;
  const tags = wanted.tags === null ? [] : tagChanges(tagsBefore, wanted.tags);
  return { wanted, before, tagsBefore, changes, tagChanges: tags, rolls };
}

/**
 * What each document would change.
 * @returns null: the API rejects a document, and the problems were printed
 * @throws ApiProblem
 */
export async function plan(
  context: Context,
  wanted: readonly Wanted[],
  book = createTagBook(context.client),
): Promise<readonly Planned[] | null> {
  const planned: Planned[] = [];
  const problems: Problem[] = [];
  for (const each of wanted) {
    try {
      planned.push(await planOne(context.client, book, each));
    } catch (error) {
      problems.push(...rejected(each, error));
    }
  }
  printProblems(context, problems);
  return problems.length === 0 ? planned : null;
}
