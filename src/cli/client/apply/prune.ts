import type { Deployment } from '../api.gen.ts';
import { ApiProblem, isPassing } from '../call-problem.ts';
import type { Client } from '../client.ts';
import type { Context } from '../context.ts';
import { allOf } from '../paging.ts';
import { cell, quoted } from '../table.ts';
import { confirm } from '../terminal/confirm.ts';
import type { Wanted } from './files.ts';
import { pruned, type Selector } from './selection.ts';
import type { TagBook } from './tag-book.ts';

/** `--prune`: deletes deployments with the selected tags that no document describes. */

/** The secret with which a deployment uses an external database (docs/resource-spec.md). */
const EXTERNAL_DATABASE = 'DATABASE_URI_CUSTOM';

/** Deployments with every selected tag. A tag that does not exist has no deployments. */
async function tagged(client: Client, book: TagBook, selector: Selector): Promise<Deployment[]> {
  const ids: string[] = [];
  for (const [key, value] of selector) {
    const id = await book.idOf(key, value);
    if (id === null) return [];
    ids.push(id);
  }
  // The API combines different keys with AND. Without an id, the list would contain every deployment.
  if (ids.length === 0) return [];
  const filter = { tag_value_ids: ids.join(), mask_secrets: true };
  return allOf<Deployment>((page) =>
    client.GET('/v2/deployments', { params: { query: { ...filter, ...page } } }),
  );
}

/** The deployments to delete. */
export async function candidates(
  { client }: Context,
  book: TagBook,
  selector: Selector,
  documents: readonly Wanted[],
): Promise<Deployment[]> {
  return pruned(await tagged(client, book, selector), documents);
}

/** A deployment and its data, as one line. */
export function pruneLine({
  name,
  secrets,
  secret_references: references = [],
  source_config,
  source_revision_config: { env = [] },
  effective_resource_spec: spec,
}: Deployment): string {
  const isExternal = [...secrets, ...references, ...env].some((each) => each.name === EXTERNAL_DATABASE);
  const database = isExternal
    ? 'its external database stays'
    : source_config.database?.enabled === false
      ? 'with the volume of its former database, if it was kept'
      : `with its database of ${spec.db_storage_gi} GiB`;
  return `${cell(name)}, ${database}`;
}

/**
 * Lists what is deleted, and asks.
 * @throws UsageError without an answer; Interrupted when the user does not agree
 */
export async function confirmPrune(
  context: Context,
  found: readonly Deployment[],
  { yes, dryRun }: { readonly yes: boolean; readonly dryRun: boolean },
): Promise<void> {
  if (found.length === 0) return;
  context.note('no document describes these deployments, so --prune deletes them:');
  for (const each of found) context.note(`  ${pruneLine(each)}`);
  if (dryRun) return;
  const what = found.length === 1 ? 'this deployment' : `these ${found.length} deployments`;
  await confirm(`Apply the files and delete ${what}?`, yes, 'nothing was changed');
}

/** Deletes one deployment with the grace period. Returns whether it succeeded. */
async function removeOne(context: Context, { id, name, generation }: Deployment): Promise<boolean> {
  const params = { path: { deployment_id: id }, header: { 'If-Match': `"${generation}"` } };
  try {
    await context.client.DELETE('/v2/deployments/{deployment_id}', { params });
    context.note(`deleted ${cell(name)}; berth restore ${quoted(name)} restores it during the grace period`);
    return true;
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    const { status, message } = error;
    if (isPassing(error)) throw error;
    const reason = status === 412 ? 'it was changed after it was listed' : message;
    context.note(`berth: ${cell(name)} was not deleted: ${reason}; next: run the command again`);
    return false;
  }
}

/**
 * Deletes the confirmed deployments. Deployments that have lost a tag in the meantime are kept.
 * @param onEnd called after each deployment, with whether it was deleted
 */
export async function prune(
  context: Context,
  confirmed: readonly Deployment[],
  current: readonly Deployment[],
  onEnd: (deployment: Deployment, isDeleted: boolean) => void,
): Promise<void> {
  const still = new Set(current.map(({ id }) => id));
  for (const each of confirmed) {
    if (still.has(each.id)) onEnd(each, await removeOne(context, each));
    else context.note(`${cell(each.name)} was not deleted: it no longer has the tags, or is already deleted`);
  }
}
